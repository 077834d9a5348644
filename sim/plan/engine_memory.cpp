// The memory that an engine takes beside weights, activations and KV cache, and how its sampler works, which
// is what the activations' peak often is.
#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

const Choices<Sampler> samplers = {{"fused", Sampler::fused}, {"sort", Sampler::sort}};

}  // namespace

// Sorting: the logits in 16 bits and in fp32, sorted values (4) and their int64 order (8), and what
// PyTorch's sort takes (aten/src/ATen/native/cuda/SortStable.cu): from 128 rows on the order before it (8)
// and a radix sort's second copy of keys and values (12); for fewer two copies of pairs of indices (16), keys
// (4) and that radix sort (12). 38 B agree with vLLM 0.6 to 0.11 on A100, H100 and H200 to 2 %
// (docs/models.md, Memory beside weights). Fused: logits in 16 bits and fp32, masked, probabilities.
// ESTIMATE: 4 B more, as peaks of five servers say: 16.8 to 18.4 B a logit.
double bytes_per_logit(Sampler sampler, std::int64_t rows) {
  constexpr double logits = 2 + 4;
  if (sampler == Sampler::fused) return logits + 4 + 4 + 4;
  return logits + 4 + 8 + (rows < 128 ? 16 + 4 + 12 : 8 + 12);
}

void read_engine_memory(Params& engine, ReplicaSpec& replica) {
  replica.memory.sampler = engine.choice(
      {"sampler",
       "How tokens are drawn, which sets the peak of activations: fused (FlashInfer's or "
       "Triton's kernels) or sort (PyTorch's, more than twice the memory: vLLM's from 0.11.1 to "
       "0.15, and before without FlashInfer). By default as the engine's version does."},
      samplers, engine_in_force(replica.engine).row->preset.sampler);
  replica.memory.cuda_graphs = engine.quantity<Bytes>(
      {"cuda_graph_memory_gib",
       "Device memory that CUDA graphs take from the KV cache: what vLLM 0.21 and later print as estimated. "
       "Earlier ones capture them in what memory_fraction leaves."},
      not_negative, 0);
}

// vLLM's, vllm/engine/arg_utils.py, get_batch_defaults: 1,024 on GPUs of 70 GiB and more, by what CUDA sees,
// 256 elsewhere and on those that it names. So since 0.9; from 0.8.4 on for two kinds of GPU alone
// (github.com/vllm-project/vllm/pull/16158).
std::int64_t usual_batch_requests(const DeviceSpec& device) {
  constexpr Bytes large(70. * 1073741824);
  return device.usual_batch_requests.value_or(device.own().capacity >= large ? 1024 : 256);
}

}  // namespace weir
