// The memory beside weights and KV cache as vLLM measures it: the peak of its profiling run, and what its
// libraries took meanwhile.
#include <algorithm>
#include <cmath>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

constexpr double element = 2;  // hidden states are 16-bit, whatever matrices multiply

double round_up(double value, double multiple) {
  return std::ceil(value / multiple) * multiple;
}

// Workspaces of the fused experts, in elements of a step. Plain kernels: a row for each token of each expert
// that it goes to, which gate and up, and then the outputs, lie in by turns, and their product beside it
// (vllm/model_executor/layers/fused_moe/fused_moe.py, fused_experts_impl: intermediate_cache13, _cache2).
// DeepGEMM, which vLLM takes for weights in blocks: each expert's rows rounded up to 128, and two spaces that
// are as wide as the hidden states at least (deep_gemm_moe.py, workspace_shapes; deep_gemm_utils.py,
// compute_aligned_M), beside the step's hidden states in 8 bits.
double expert_workspaces(const Architecture& m, const MixtureOfExperts& moe, const Sharding& cut,
                         DataType weights, double tokens) {
  const auto hidden = static_cast<double>(m.hidden), active = static_cast<double>(moe.active);
  const double intermediate = static_cast<double>(moe.intermediate) * cut.expert / cut.ranks();
  const double first = std::max(2 * intermediate, hidden);
  if (weights != DataType::fp8_block) return tokens * active * (first + intermediate);
  constexpr double alignment = 128;
  const double experts = static_cast<double>(moe.experts) / cut.expert;
  return round_up(tokens * active + experts * (alignment - 1), alignment) *
             (first + std::max(intermediate, hidden)) +
         tokens * hidden / element;
}

// The widest moment of a full step: the residual, what goes into the layer, and what the layer makes of it.
// Attention's own is narrower. Ranks of attention-data groups count their own tokens alone: engines send
// those of others to experts in pieces.
Bytes widest_layer(const Scenario& s, const ReplicaSpec& spec) {
  const Architecture& m = s.model;
  const auto tokens = static_cast<double>(spec.batching->max_batch_tokens());
  const double up = m.gated_mlp ? 3 : 2;  // gate, up and their product; or up and its activation
  double widest = 0;
  for (const LayerKind& layer : m.layers) {
    double elements = up * static_cast<double>(layer.intermediate) / spec.parallelism.tensor * tokens;
    if (layer.moe.experts > 0) {
      const double outputs = layer.moe.shared_intermediate > 0 ? 2 : 1;
      elements = expert_workspaces(m, layer.moe, spec.parallelism,
                                   s.precision.of(MatrixGroup::experts, layer.wide).weights.number, tokens) +
                 outputs * static_cast<double>(m.hidden) * tokens;
    }
    widest = std::max(widest, elements);
  }
  return Bytes(element * (widest + 2 * static_cast<double>(m.hidden) * tokens));
}

// The sampler comes after the layers: of these the hidden states are left.
Bytes sampled(const Scenario& s, const ReplicaSpec& spec) {
  const auto requests = spec.batching->max_batch_requests();
  // To verify drafts greedily takes the logits of their rows in 16 bits and in fp32.
  const double per_draft = 2 + 4;
  const double per_logit =
      bytes_per_logit(spec.memory.sampler, requests) + static_cast<double>(spec.drafts()) * per_draft;
  return Bytes(element * static_cast<double>(spec.batching->max_batch_tokens() * s.model.hidden) +
               static_cast<double>(requests * s.model.vocabulary) * per_logit);
}

}  // namespace

// vLLM's determine_available_memory (vllm/v1/worker/gpu_worker.py) runs a full step and then the sampler for
// as many requests as may be; the larger of both is the peak.
Bytes activation_reserve(const Scenario& s, const ReplicaSpec& spec, const LinkSpec& links) {
  // CUDA and its libraries take 0.02 to 0.12 GiB meanwhile on one GPU, in logs of vLLM 0.6 to 0.11 on A100
  // and H100; this is their median (docs/models.md, Memory beside weights).
  const Bytes libraries(0.07 * 1073741824);
  const bool together = spec.parallelism.ranks() * spec.parallelism.pipeline > 1;
  const Bytes buffers = together ? links.buffers : Bytes(0);
  return std::max(widest_layer(s, spec), sampled(s, spec)) + libraries + buffers + spec.memory.cuda_graphs;
}

}  // namespace weir
