#include "test/app/case_checks/case_checks.h"

namespace weir::test {

const std::vector<NamedCase>& case_checks() {
  static const std::vector<NamedCase> table = {
      {"bailian_seconds", check_bailian_seconds},
      {"conversation_key", check_conversation_key},
      {"dramsim3_ini_and_trace", check_dramsim3_ini_and_trace},
      {"fp8_checkpoint_misfit", check_fp8_checkpoint_misfit},
      {"granite_is_llama", check_granite_is_llama},
      {"guidellm_rate_and_bound", check_guidellm_rate_and_bound},
      {"inference_perf_summary", check_inference_perf_summary},
      {"infinity_in_config", check_infinity_in_config},
      {"int4_group32_kimi", check_int4_group32_kimi},
      {"kv_tokens_h200", check_kv_tokens_h200},
      {"minimax_all_full_attn_type_list", check_minimax_all_full_attn_type_list},
      {"num_routed_experts_alias_v3", check_num_routed_experts_alias_v3},
      {"qwen2_5_vl_flat", check_qwen2_5_vl_flat},
      {"qwen3_windows_note", check_qwen3_windows_note},
      {"shared_indexer_glm52", check_shared_indexer_glm52},
      {"vllm_bench_empty_answers", check_vllm_bench_empty_answers},
  };
  return table;
}

}  // namespace weir::test
