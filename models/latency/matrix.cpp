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

KernelCost grouped_gemm_cost(const GemmEfficiency& e, const Roof& roof, const GemmShape& s,
                             const RankLoad& load) {
  const double rows = load.copies, busy = load.hit;
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
