#include "models/latency/matrix.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

struct Work {
  double flops, computed_flops;  // that count; with what is padded
  double bytes;
  double rows, inputs;  // of a matrix; elements of the input
};

KernelCost roofline(const GemmEfficiency& e, const Roof& roof, const Work& work) {
  const double factor = e.factor(work.rows), quantised = work.inputs * e.quantising_bytes;
  const double compute = factor * work.computed_flops / (e.compute * roof.peak.value());
  const double traffic = factor * work.bytes / (e.memory * roof.bandwidth.value());
  KernelCost cost;
  cost.time =
      Seconds(smooth_maximum(compute, traffic, e.knee)) + e.launch + Bytes(quantised) / roof.bandwidth;
  cost.flops = Flops(work.flops);
  cost.moved[own_memory] = Bytes(work.bytes + quantised);
  cost.compute = Seconds(compute);
  cost.traffic = Seconds(traffic);
  cost.knee = e.knee;
  return cost;
}

double tail(const GemmEfficiency& e, const Roof& roof, double in) {
  return 2 * in * e.tail_tiles * 128 * 128 * roof.multiprocessors;
}

}  // namespace

double GemmEfficiency::factor(double rows) const {
  for (const Step& step : steps)
    if (rows <= step.rows) return step.factor;
  return 1;
}

KernelCost gemm_cost(const GemmEfficiency& e, const Roof& roof, const GemmShape& s) {
  return implicit_gemm_cost(
      e, roof, s,
      Bytes(s.matrices *
            (s.in * s.out * s.weight_bytes + s.rows * (s.in * s.activation_bytes + s.out * s.output_bytes))));
}

KernelCost implicit_gemm_cost(const GemmEfficiency& e, const Roof& roof, const GemmShape& s, Bytes moved) {
  const double flops = 2 * s.matrices * s.rows * s.in * s.out;
  return roofline(e, roof,
                  {flops, flops + tail(e, roof, s.in), moved.value(), s.rows, s.matrices * s.rows * s.in});
}

double expected_active_experts(const ExpertShape& experts, double tokens) {
  const double missed = 1 - static_cast<double>(experts.active) / static_cast<double>(experts.total);
  return static_cast<double>(experts.here) * (1 - std::pow(missed, tokens));
}

// ESTIMATE: the largest of g Poisson counts of mean r is about r + sqrt(2 r ln g) (extreme values of a normal
// distribution); it cannot pass all g r rows.
double busiest_rank(const ExpertShape& experts, double rows_per_rank) {
  const double ranks = static_cast<double>(experts.total) / static_cast<double>(experts.here);
  if (ranks <= 1 || rows_per_rank <= 0) return 1;
  return std::min(ranks, 1 + std::sqrt(2 * std::log(ranks) / rows_per_rank));
}

KernelCost grouped_gemm_cost(const GemmEfficiency& e, const Roof& roof, const GemmShape& s,
                             const ExpertShape& experts) {
  const double mean =
      s.rows * static_cast<double>(experts.active * experts.here) / static_cast<double>(experts.total);
  const double rows = mean * busiest_rank(experts, mean);
  const double busy = expected_active_experts(experts, s.rows);
  const double flops = 2 * s.in * s.out * rows;
  const double computed = 2 * s.in * s.out * (rows + busy * e.empty_rows_per_expert) + tail(e, roof, s.in);
  const double bytes =
      busy * s.in * s.out * s.weight_bytes + rows * (s.in * s.activation_bytes + s.out * s.output_bytes);
  return roofline(e, roof, {flops, computed, bytes, s.rows, rows * s.in});
}

KernelCost elementwise_cost(const ElementwiseEfficiency& e, BytesPerSecond bandwidth, Bytes bytes) {
  const Bytes cached = std::min(bytes, e.cache), rest = bytes - cached;
  KernelCost cost;
  cost.moved[own_memory] = rest;
  cost.traffic = rest / (e.memory * bandwidth);
  if (cached > Bytes(0)) cost.traffic += cached / e.cache_bandwidth;
  cost.time = cost.traffic + e.launch;
  return cost;
}

}  // namespace weir
