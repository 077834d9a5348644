// The order in which an engine's two overlapping batches take turns, fixed as it captures a step.
#include "sim/plan/scenario_parts.h"

namespace weir {

// SGLang: python/sglang/srt/batch_overlap/operations_strategy.py, _compute_moe_deepseek_blog_prefill and
// _decode (their yields, tbo_delta_stages), played by execute_overlapped_operations (operations.py). vLLM,
// and engines without an order of their own: two threads that yield as they send
// (vllm/v1/worker/ubatching.py, docs/design/dbo.md; model_executor/layers/fused_moe/modular_kernel.py), where
// shared experts run behind the sending of results.
Alternations alternations_of(const std::string& engine) {
  using Shared = Alternation::Shared;
  const Alternation in_two{.shared = Shared::behind_combine};
  if (!engine.starts_with("sglang")) return {in_two, in_two};
  return {.prompts = {.shared = Shared::after_combine},
          .decodes = {.attention_apart = true, .shared = Shared::behind_dispatch, .behind = 2}};
}

}  // namespace weir
