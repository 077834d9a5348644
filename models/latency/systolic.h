#pragma once
// GEMMs on weight-stationary systolic arrays. Called by devices/ for each operator; pure, under 100 ns.
//
// Weights stand in the arrays, one tile of rows x columns each; activations stream through, a row a cycle.
// The next tile is loaded, a row a cycle, while the one before is in use, so that a tile costs the longer of
// both: few rows of activations leave an array waiting for its weights, which is why a GEMV fills it for
// nothing. What the arrays read and write crosses the memory meanwhile (double buffering), all but the first
// tiles.
#include <cstdint>

#include "models/latency/matrix.h"
#include "models/machine/kernel_cost.h"

namespace weir {

struct SystolicArrays {
  std::int64_t arrays = 1, rows = 128, columns = 128;  // rows: along `in`; columns: along `out`
  double clock_hz = 1e9;
  BytesPerSecond bandwidth;      // of the memory
  double memory_efficiency = 1;  // share of it that a stream reaches
  Bytes scratchpad;              // of all arrays together; half of it is being filled
};

// Cycles of the arrays alone, with weights and activations at hand.
std::int64_t systolic_cycles(const SystolicArrays& arrays, std::int64_t rows, std::int64_t in,
                             std::int64_t out);

// `count` equal GEMMs that share nothing, side by side and one after the other (heads of attention).
// Activations that do not fit the scratchpad are read again, or the weights are, whichever is less.
KernelCost systolic_gemm_cost(const SystolicArrays& arrays, const GemmShape& shape, std::int64_t count = 1);

}  // namespace weir
