// Matrices and attention on the arrays and vector units of an NPU.
#include <algorithm>
#include <cmath>

#include "devices/kernel_shapes.h"
#include "devices/npu/npu.h"

namespace weir {
namespace {

double cycles_to_seconds(const NpuShape& shape, double cycles) {
  return cycles / shape.arrays.clock_hz;
}

FlopsPerSecond peak(const SystolicArrays& a) {
  return FlopsPerSecond(2 * static_cast<double>(a.arrays * a.rows * a.columns) * a.clock_hz);
}

BytesPerSecond bandwidth(const NpuShape& shape) {
  return shape.arrays.memory_efficiency * shape.arrays.bandwidth;
}

std::int64_t tiles(double whole, std::int64_t part) {
  return (std::llround(whole) + part - 1) / part;
}

double tile_bytes(const NpuShape& shape, double element) {
  return static_cast<double>(shape.arrays.rows * shape.arrays.columns) * element;
}

// Filling the first tile, and the last row's way out: once a kernel (models/latency/systolic.cpp).
double fill_and_drain(const SystolicArrays& a) {
  return static_cast<double>(a.rows + a.rows + a.columns - 2);
}

// The longer of arithmetic and traffic, nothing else: the `paper` assumptions.
KernelCost plain_roofline(const NpuShape& shape, const GemmShape& s, double count) {
  KernelCost cost;
  cost.flops = Flops(2 * count * s.rows * s.in * s.out);
  cost.moved[own_memory] = Bytes(count * (s.in * s.out * s.weight_bytes +
                                          s.rows * (s.in * s.activation_bytes + s.out * s.output_bytes)));
  cost.compute = cost.flops / peak(shape.arrays);
  cost.traffic = cost.moved[own_memory] / bandwidth(shape);
  cost.time = std::max(cost.compute, cost.traffic);
  return cost;
}

}  // namespace

KernelCost npu_gemm_cost(const NpuShape& shape, const GemmShape& gemm, std::int64_t count) {
  if (shape.fitted) return plain_roofline(shape, gemm, static_cast<double>(count));
  return systolic_gemm_cost(shape.arrays, gemm, count);
}

KernelCost npu_grouped_gemm_cost(const NpuShape& shape, const GemmShape& s, const RankLoad& load) {
  const double rows = load.copies, busy = std::max(1.0, load.hit);
  const SystolicArrays& a = shape.arrays;
  GemmShape all = s;
  all.rows = rows;
  KernelCost cost = plain_roofline(shape, all, 1);  // one matrix's weights: the other experts' follow
  cost.moved[own_memory] += Bytes((busy - 1) * s.in * s.out * s.weight_bytes);
  cost.traffic = cost.moved[own_memory] / bandwidth(shape);
  if (!shape.fitted) {
    const auto per_expert = static_cast<double>(tiles(s.in, a.rows) * tiles(s.out, a.columns));
    const double used = std::min(static_cast<double>(a.arrays), per_expert * busy);
    const double streamed = per_expert * std::max(rows, busy * static_cast<double>(a.rows)) / used;
    cost.compute = Seconds(cycles_to_seconds(shape, streamed + fill_and_drain(a)));
    cost.time = Bytes(used * tile_bytes(shape, s.weight_bytes)) / bandwidth(shape);
  } else {
    cost.time = Seconds(0);
  }
  cost.time += std::max(cost.compute, cost.traffic);
  return cost;
}

// K and V of a KV head stand in the arrays, the rows of all its query heads stream through; scores stay on
// the chip. The vector units do one head's softmax while the arrays are at another's.
KernelCost prefill_attention_cost(const NpuShape& shape, const Attention& op, const BatchShape& batch) {
  const AttentionShape heads = attention_shape(op);
  const double group = heads.query_heads / heads.kv_heads;
  KernelCost sum;
  for (const PrefillChunk& chunk : batch.prefill) {
    const auto tokens = static_cast<double>(chunk.tokens);
    // Causal: a chunk's own tokens attend to half of each other; whole tiles above the diagonal are left out.
    const double keys = std::ceil(static_cast<double>(chunk.context) + (tokens + 1) / 2);
    const GemmShape scores{group * tokens, heads.head_dim, keys, heads.kv_bytes, 2, 0};
    const GemmShape values{group * tokens, keys, heads.head_dim, heads.kv_bytes, 0, 2};
    KernelCost cost;  // what is masked of the chunk's own K and V crosses the bus too
    cost.moved[own_memory] =
        (static_cast<double>(chunk.context) + tokens - keys) * Bytes(heads.bytes_per_token());
    cost.time = cost.traffic = cost.moved[own_memory] / bandwidth(shape);
    for (const GemmShape& gemm : {scores, values}) {
      const KernelCost one = npu_gemm_cost(shape, gemm, op.kv_heads);
      cost.time += one.time, cost.compute += one.compute, cost.traffic += one.traffic;
      cost.flops += one.flops, cost.moved[own_memory] += one.moved[own_memory];
    }
    const Seconds softmax(cycles_to_seconds(
        shape, shape.softmax_cycles * heads.query_heads * tokens * keys / shape.vector_lanes));
    sum.time += std::max(cost.time, softmax);
    sum.compute += std::max(cost.compute, softmax);
    sum.traffic += cost.traffic;
    sum.flops += cost.flops, sum.moved[own_memory] += cost.moved[own_memory];
  }
  return sum;
}

// A context ends anywhere in a tile, so that half of its last one is empty on average.
DecodeWork decode_work(const NpuShape& shape, const Attention& op, double share, double decodes,
                       double tokens) {
  const AttentionShape heads = attention_shape(op);
  const SystolicArrays& a = shape.arrays;
  const double group = heads.query_heads / heads.kv_heads;
  const auto along = static_cast<double>(tiles(heads.head_dim, a.rows)),
             across = static_cast<double>(tiles(heads.head_dim, a.columns));
  const auto rows = static_cast<double>(a.rows), columns = static_cast<double>(a.columns);
  const double per_head = along * (tokens / columns + decodes / 2) + across * (tokens / rows + decodes / 2);
  DecodeWork work;
  work.arrays = Seconds(cycles_to_seconds(shape, share * heads.kv_heads * per_head * std::max(group, rows)));
  work.vectors = Seconds(
      cycles_to_seconds(shape, shape.softmax_cycles * heads.query_heads * tokens / shape.vector_lanes));
  work.flops = Flops(heads.flops_per_pair() * tokens);
  work.memory =
      Bytes(heads.bytes_per_token() * tokens + 2 * 2 * heads.query_heads * heads.head_dim * decodes);
  work.traffic = work.memory / (shape.fitted ? shape.fitted->kv_reads * a.bandwidth : bandwidth(shape));
  if (shape.fitted) work.arrays = work.vectors = Seconds(0);
  return work;
}

}  // namespace weir
