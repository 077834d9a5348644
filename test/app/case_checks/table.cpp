#include "test/app/case_checks/case_checks.h"

namespace weir::test {

const std::vector<NamedCase>& case_checks() {
  static const std::vector<NamedCase> table = {
      {"bailian_seconds", check_bailian_seconds},

      {"conversation_key", check_conversation_key},

      {"dramsim3_ini_and_trace", check_dramsim3_ini_and_trace},

      {"fp8_checkpoint_misfit", nullptr},

      {"granite_is_llama", nullptr},

      {"guidellm_rate_and_bound", check_guidellm_rate_and_bound},

      {"inference_perf_summary", check_inference_perf_summary},

      {"infinity_in_config", nullptr},

      {"int4_group32_kimi", nullptr},

      {"kv_tokens_h200", nullptr},

      {"minimax_all_full_attn_type_list", nullptr},

      {"num_routed_experts_alias_v3", nullptr},

      {"qwen2_5_vl_flat", nullptr},

      {"qwen3_windows_note", nullptr},

      {"shared_indexer_glm52", nullptr},

      {"vllm_bench_empty_answers", check_vllm_bench_empty_answers},
  };
  return table;
}

}  // namespace weir::test
