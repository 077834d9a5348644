#pragma once
// Folders of inputs that people have: each holds a COMMAND and an EXPECTED, and a check here holds what the
// command gives to what EXPECTED says. case_checks/*.cpp have the checks, cases_test.cpp runs them.
#include <nlohmann/json.hpp>

#include "test/app/run_weir.h"

namespace weir::test {

struct CaseRun {
  Ended ended;
  std::filesystem::path folder;  // a copy of the case's, in which the command ran

  // summary.json of `weir run scenario.json`, whose own result folder is out/scenario.
  nlohmann::json summary(const std::string& results = "out/scenario") const;
  std::string printed() const { return ended.out + ended.err; }
  bool refused() const;  // with exit 2, and it left no results
};

using CaseCheck = void (*)(const CaseRun&);
// By the folder's name.
struct NamedCase {
  const char* folder;
  CaseCheck check;
};
const std::vector<NamedCase>& case_checks();

// result_files.cpp
void check_bailian_seconds(const CaseRun& run);
void check_conversation_key(const CaseRun& run);
void check_dramsim3_ini_and_trace(const CaseRun& run);
void check_guidellm_rate_and_bound(const CaseRun& run);
void check_inference_perf_summary(const CaseRun& run);
void check_vllm_bench_empty_answers(const CaseRun& run);

// model_files.cpp
void check_fp8_checkpoint_misfit(const CaseRun& run);
void check_granite_is_llama(const CaseRun& run);
void check_infinity_in_config(const CaseRun& run);
void check_int4_group32_kimi(const CaseRun& run);
void check_kv_tokens_h200(const CaseRun& run);
void check_minimax_all_full_attn_type_list(const CaseRun& run);
void check_num_routed_experts_alias_v3(const CaseRun& run);
void check_qwen2_5_vl_flat(const CaseRun& run);
void check_qwen3_windows_note(const CaseRun& run);
void check_shared_indexer_glm52(const CaseRun& run);

}  // namespace weir::test
