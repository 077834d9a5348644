#include "models/latency/systolic.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

std::int64_t tiles(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

std::int64_t whole(double size) {
  return std::llround(size);
}

// The busiest array takes its first load, every tile until the next may start, and the last row's way out,
// which enters `rows` - 1 cycles skewed and crosses `columns` - 1 more.
std::int64_t cycles_of_tiles(const SystolicArrays& a, std::int64_t rows, std::int64_t all_tiles) {
  const std::int64_t mine = tiles(all_tiles, a.arrays);
  return a.rows + (mine - 1) * std::max(rows, a.rows) + rows + a.rows + a.columns - 2;
}

// Activations are read once if they fit beside nothing else; otherwise either they come again for each round
// of columns that the arrays take, or the weights for each block of rows that fits.
double bytes_read(const SystolicArrays& a, const GemmShape& s) {
  const double inputs = s.rows * s.in * s.activation_bytes, weights = s.in * s.out * s.weight_bytes;
  const double room = a.scratchpad.value() / 2;
  if (inputs <= room) return inputs + weights;
  const double rounds = static_cast<double>(tiles(whole(s.out), a.arrays * a.columns));
  const double blocks = std::ceil(inputs / room);
  return std::min(inputs * rounds + weights, inputs + weights * blocks);
}

}  // namespace

std::int64_t systolic_cycles(const SystolicArrays& a, std::int64_t rows, std::int64_t in, std::int64_t out) {
  return cycles_of_tiles(a, rows, tiles(in, a.rows) * tiles(out, a.columns));
}

KernelCost systolic_gemm_cost(const SystolicArrays& a, const GemmShape& s, std::int64_t count) {
  const auto times = static_cast<double>(count);
  const std::int64_t all = count * tiles(whole(s.in), a.rows) * tiles(whole(s.out), a.columns);
  const double first = static_cast<double>(std::min(all, a.arrays) * a.rows * a.columns) * s.weight_bytes;
  const BytesPerSecond bandwidth = a.memory_efficiency * a.bandwidth;
  KernelCost cost;
  cost.flops = Flops(2 * times * s.rows * s.in * s.out);
  cost.moved[own_memory] = Bytes(times * (bytes_read(a, s) + s.rows * s.out * s.output_bytes));
  cost.compute = Seconds(static_cast<double>(cycles_of_tiles(a, whole(s.rows), all)) / a.clock_hz);
  cost.traffic = cost.moved[own_memory] / bandwidth;
  cost.time = std::max(cost.compute, cost.traffic) + Bytes(first) / bandwidth;
  return cost;
}

}  // namespace weir
