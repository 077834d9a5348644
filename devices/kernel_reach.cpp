#include <algorithm>

#include "devices/gpu.h"

namespace weir {
namespace {

void scale(double& share, double by) {
  share = std::min(share * by, std::max(share, 1.0));  // a peak is a peak
}

void scale(std::optional<GemmEfficiency>& gemm, const KernelReach& reach) {
  if (!gemm) return;
  scale(gemm->compute, reach.compute);
  scale(gemm->memory, reach.memory);
}

void scale(AttentionEfficiency& attention, const KernelReach& reach) {
  scale(attention.prefill.context, reach.compute);
  scale(attention.prefill.causal, reach.compute);
  scale(attention.decode.memory, reach.memory);
}

}  // namespace

KernelEfficiencies reaching(KernelEfficiencies kernels, const KernelReach& reach) {
  for (MatrixEfficiencies* all : {&kernels.gemms, &kernels.experts})
    for (std::optional<GemmEfficiency>& each : *all) scale(each, reach);
  for (ElementwiseLayer& layer : kernels.elementwise) scale(layer.efficiency.memory, reach.memory);
  for (AttentionEfficiency* each : {&kernels.attention, &kernels.attention_8bit_cache}) scale(*each, reach);
  return kernels;
}

}  // namespace weir
