#include "devices/l2_npu/l2_npu.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <limits>
#include <stdexcept>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

struct AttentionWork {
  Flops flops;
  Bytes kv, rest;  // K and V; queries and results

  AttentionWork& operator+=(const AttentionWork& more) {
    flops += more.flops, kv += more.kv, rest += more.rest;
    return *this;
  }
};

// Queries attend to so many tokens each; K and V are read once for all of them.
AttentionWork work_of(const Attention& op, double queries, double attended, double kv_tokens) {
  const AttentionShape heads = attention_shape(op);
  const double vector = heads.query_heads * heads.head_dim * bytes_per_element(op.activations);
  return {Flops(heads.flops_per_pair() * attended), Bytes(heads.bytes_per_token() * kv_tokens),
          Bytes(2 * vector * queries)};
}

class L2Npu final : public Device {
 public:
  L2Npu(DeviceSpec spec, L2NpuShape shape) : spec_(std::move(spec)), shape_(shape) {
    // The exact maximum of arithmetic and traffic, and every row of an expert as it is.
    roofline_.memory = streams_.memory = shape_.memory_efficiency;
    roofline_.knee = std::numeric_limits<double>::infinity();
    roofline_.empty_rows_per_expert = 0;
  }

  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const KernelWork& work, int) const override {
    if (const auto* heads = whole_attention(work)) return attention(*heads, work.batch);
    if (work.rows == 0 && !work.as<Attention>()) return {};
    if (const auto* bytes = work.as<Elementwise>())
      return with_energy(spec_, elementwise_cost(streams_, spec_.own().bandwidth, work.rows * bytes->per_row),
                         DataType::bf16);
    if (const auto* gemm = work.as<Gemm>()) return gemm_of(*gemm, work);
    const auto* experts = work.as<GroupedGemm>();
    if (!experts) no_kernel(work, spec_);
    const DataType type = experts->each.activations;
    return with_energy(spec_,
                       grouped_gemm_cost(roofline_, roof(type), gemm_shape(experts->each, work.rows),
                                         rank_load(*experts, work.rows)),
                       type);
  }

  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override;
  bool widens_decodes() const override { return true; }

  std::string cannot_run(std::span<const KernelWork> all) const override;

 private:
  Roof roof(DataType type) const { return {spec_.peak(type), spec_.own().bandwidth, 0}; }

  KernelCost gemm_of(const Gemm& gemm, const KernelWork& work) const {
    KernelCost cost = gemm_cost(roofline_, roof(gemm.activations), gemm_shape(gemm, work.rows));
    if (work.begin > 0) cost.time += shape_.chunk_start;
    return with_energy(spec_, cost, gemm.activations);
  }
  KernelCost attention(const Attention& op, const BatchShape& batch) const;
  KernelCost attention_cost_of(const Attention& op, const AttentionWork& work) const;

  DeviceSpec spec_;
  L2NpuShape shape_;
  GemmEfficiency roofline_;
  ElementwiseEfficiency streams_;
};

// Its attention works in the type between GEMMs, which may be none that it has arithmetic for.
std::string L2Npu::cannot_run(std::span<const KernelWork> all) const {
  for (const KernelWork& work : all)
    if (const auto* heads = work.as<Attention>();
        heads && spec_.peak(heads->activations) <= FlopsPerSecond(0))
      return fmt::format("{} cannot calculate in {}, precision/hidden, in which its attention works",
                         spec_.kind, to_string(heads->activations));
  const std::string why = attends_otherwise(spec_.kind, all);
  return why.empty() ? lacks_a_peak(spec_, all) : why;
}

// One KV head on the device: its K and V lie one after another. Several: they are read in strides (PRESERVE,
// Section 4, on its Table 1).
KernelCost L2Npu::attention_cost_of(const Attention& op, const AttentionWork& work) const {
  const BytesPerSecond stream = shape_.memory_efficiency * spec_.own().bandwidth;
  const double contiguous = op.kv_heads > 1 ? shape_.strided_kv : 1;
  KernelCost cost;
  cost.flops = work.flops;
  cost.moved[own_memory] = work.kv + work.rest;
  cost.compute = work.flops / spec_.peak(op.activations);
  cost.traffic = (work.kv / contiguous + work.rest) / stream;
  cost.time = std::max(cost.compute, cost.traffic);
  return with_energy(spec_, cost, op.activations);
}

KernelCost L2Npu::attention(const Attention& op, const BatchShape& batch) const {
  AttentionWork work;
  for (const PrefillChunk& chunk : batch.prefill) {
    const auto tokens = static_cast<double>(chunk.tokens), context = static_cast<double>(chunk.context);
    // Causal: a chunk's own tokens attend to half of each other, and to themselves.
    work += work_of(op, tokens, tokens * (context + (tokens + 1) / 2), context + tokens);
  }
  const auto attended = static_cast<double>(batch.decode_context_sum);
  const auto rows = static_cast<double>(batch.decode_rows);
  work += work_of(op, rows * static_cast<double>(batch.decodes), rows * attended, attended);
  return attention_cost_of(op, work);
}

// Arithmetic and traffic are a line each over the steps; the upper one holds until the other crosses it.
AffineKernelCost L2Npu::decode_attention(const KernelWork& whole, int) const {
  const auto& op = std::get<Attention>(whole.kernel);
  const BatchShape& batch = whole.batch;
  AffineKernelCost affine{attention(op, batch), {}, std::int64_t{1} << 50};
  if (batch.decodes == 0) return affine;
  const auto decodes = static_cast<double>(batch.decodes);
  affine.slope =
      attention_cost_of(op, work_of(op, 0, static_cast<double>(batch.decode_rows) * decodes, decodes));
  const KernelCost &first = affine.first, &slope = affine.slope;
  const std::pair<Seconds, Seconds> compute{first.compute, slope.compute},
      traffic{first.traffic, slope.traffic};
  const auto [lower, upper] = std::minmax(compute, traffic);
  affine.slope.time = upper.second;
  if (lower.second > upper.second) {
    const double crossing = (upper.first - lower.first) / (lower.second - upper.second);
    if (crossing < static_cast<double>(affine.steps)) affine.steps = static_cast<std::int64_t>(crossing) + 1;
  }
  return affine;
}

}  // namespace

std::shared_ptr<const Device> make_l2_npu(DeviceSpec spec, L2NpuShape shape) {
  return std::make_shared<L2Npu>(std::move(spec), shape);
}

}  // namespace weir
