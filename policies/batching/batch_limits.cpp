#include <fmt/format.h>

#include <limits>

#include "policies/batching/batch_builder.h"

namespace weir {

BatchLimits BatchLimits::from(Params& params) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // as names of requests
  BatchLimits limits{};
  // 256: vLLM's default, vllm/engine/arg_utils.py; by the device's memory where the engine says so
  // (sim/plan/engine_memory.cpp).
  limits.max_batch_requests = params.integer({"max_batch_requests",
                                              "requests running at once (vLLM max_num_seqs); higher: more "
                                              "throughput, slower tokens, more KV cache. By "
                                              "default 256; under vLLM on devices of 70 GiB and more but the "
                                              "A100 1,024, or max_batch_tokens if less, where the model "
                                              "keeps nothing but KV caches"},
                                             {1, most}, 256);
  // 8192: vLLM v1 as a server on GPUs of 70 GiB and more but the A100 (2048 elsewhere), arg_utils.py
  // get_batch_defaults; also trtllm-build's max_num_tokens.
  limits.max_batch_tokens = params.integer({"max_batch_tokens",
                                            "tokens of one step (vLLM max_num_batched_tokens); higher: "
                                            "faster prompts, longer stalls of the others' "
                                            "tokens. Policies that never cut a prompt reject longer ones"},
                                           {1, most}, 8192);
  // The same rule as vLLM's SchedulerConfig (vllm/config/scheduler.py).
  if (limits.max_batch_tokens < limits.max_batch_requests)
    params.fail("max_batch_tokens",
                fmt::format("expected at least max_batch_requests, so that every running request "
                            "gets its token each step (got {}, max_batch_requests is {})",
                            limits.max_batch_tokens, limits.max_batch_requests));
  return limits;
}

}  // namespace weir
