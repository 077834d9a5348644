#include <algorithm>

#include "sim/plan/scenario_parts.h"

namespace weir {

// vLLM's profiling run finds this in use beside weights and cache (vllm/v1/worker/gpu_worker.py,
// determine_available_memory): the widest moment of a full batch, and the sampler's copies of the logits.
Bytes activation_reserve(const Scenario& s, const ReplicaSpec& spec) {
  const Architecture& m = s.model;
  const double tensor = spec.parallelism.tensor, element = bytes_per_element(s.precision.activations);
  const auto tokens = static_cast<double>(spec.batching->max_batch_tokens());
  const auto requests = static_cast<double>(spec.batching->max_batch_requests());
  const double up = (m.gated_mlp ? 3.0 : 2.0);  // gate, up and their product; or up and its activation
  double width = 0;                             // of the widest layer
  for (const auto& [intermediate, moe, attention, wide] : m.layers) {
    const double of_experts =
        static_cast<double>(moe.active) *
        (up * static_cast<double>(moe.intermediate) / tensor + static_cast<double>(m.hidden));
    width = std::max({width, of_experts, up * static_cast<double>(intermediate) / tensor});
  }
  const double hidden = 2.0 * static_cast<double>(m.hidden);  // hidden states and residual
  const double per_logit =
      2 + 4 + 4 + 8 + 4 + 4;  // 16-bit, fp32, sorted, its int64 order, softmax, cumulated
  // ESTIMATE: to verify drafts greedily takes the logits of their rows in 16 bits and in fp32, nothing
  // sorted.
  const double per_draft = 2 + 4;
  const double logits = per_logit + static_cast<double>(spec.drafts()) * per_draft;
  // ESTIMATE: CUDA context, NCCL and CUDA graphs; what is missing between the formula above and the 2,588
  // blocks of a real vLLM 0.19 on an RTX 4090 (Llama-3.1-8B, 2,048 tokens, 256 requests; LLMServingSim's
  // bench run).
  const double framework = 0.63e9;
  return Bytes(tokens * (hidden + width) * element + requests * static_cast<double>(m.vocabulary) * logits +
               framework);
}

}  // namespace weir
