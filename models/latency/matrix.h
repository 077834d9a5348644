#pragma once
// Kernels that a smooth roofline describes: GEMMs, the grouped GEMMs of a mixture of experts, and the
// elementwise ones. Called by devices/ for each operator; pure, under 100 ns. Fitted by
// docs/calibration/fit.py.
#include <cstdint>
#include <vector>

#include "models/latency/expert_load.h"
#include "models/machine/kernel_cost.h"

namespace weir {

// time = (compute^knee + traffic^knee)^(1/knee) + launch. A smooth knee fits measured GEMMs better than tile
// quantisation (systems: cuBLAS and CUTLASS choose tiles by shape); the last wave leaves `tail_tiles` of a
// 128 x 128 tile idle on every SM.
struct GemmEfficiency {
  double compute = 1, memory = 1;  // of the peak and of the bandwidth
  double knee = 2;                 // 1: compute and traffic add up; large: the longer one counts
  double tail_tiles = 0;
  Seconds launch;
  // Bytes an element of the input that a kernel of its own moves to quantise it before the product starts.
  double quantising_bytes = 0;
  // Kernels are chosen by rows, and some are worse than the law: up to so many rows all but launch and
  // quantising takes so many times as long. Ascending; 1 beyond the last.
  struct Step {
    double rows = 0, factor = 1;
  };
  std::vector<Step> steps = {};
  // Grouped GEMMs: vLLM's fused MoE kernel deals each expert's rows out in blocks of at least 16
  // (fused_moe.py, BLOCK_SIZE_M): half a block is empty on average.
  double empty_rows_per_expert = 8;

  double factor(double rows) const;
};

struct GemmShape {
  double rows = 0, in = 0, out = 0;
  double weight_bytes = 2, activation_bytes = 2, output_bytes = 2;  // an element
  double matrices = 1;  // so many alike, each with rows of its own
};

KernelCost gemm_cost(const GemmEfficiency& efficiency, const Roof& roof, const GemmShape& shape);
// The same where another number of bytes moves: of an implicit product (a convolution's) the operands.
KernelCost implicit_gemm_cost(const GemmEfficiency& efficiency, const Roof& roof, const GemmShape& shape,
                              Bytes moved);

// The fullest rank's time, since the others wait for it. `shape.rows` are the layer's tokens, which choose
// the kernel; what the rank computes and reads is in `load`.
KernelCost grouped_gemm_cost(const GemmEfficiency& efficiency, const Roof& roof, const GemmShape& shape,
                             const RankLoad& load);

// launch + what the producer left in the cache at the cache's speed + the rest at the memory's.
struct ElementwiseEfficiency {
  double memory = 1;
  BytesPerSecond cache_bandwidth;
  Bytes cache;  // of the L2 that activations find free; 0: everything from memory
  Seconds launch;
};

KernelCost elementwise_cost(const ElementwiseEfficiency& efficiency, BytesPerSecond bandwidth, Bytes bytes);

}  // namespace weir
