#include "devices/npu/npu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

// ESTIMATE: a lane takes one 16-bit element in and puts one out a cycle.
constexpr double lane_bytes = 4;

class Npu final : public Device {
 public:
  Npu(DeviceSpec spec, NpuShape shape) : spec_(std::move(spec)), shape_(std::move(shape)) {}

  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const KernelWork& work, int unit) const override;
  KernelCost cost_by_member(const KernelWork& work, int unit, std::span<Seconds> channels) const override;
  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override;
  // The fullest channel is waited for, and a request fills pages and tiles of its own: no line.
  std::int64_t line_steps(const KernelWork& work, int unit) const override {
    return spec_.own().members > 1 ? 1 : Device::line_steps(work, unit);
  }
  std::string cannot_run(std::span<const KernelWork> all) const override;

 private:
  KernelCost elementwise(Bytes bytes) const;
  KernelCost softmax(const Attention& op, const BatchShape& batch) const;
  KernelCost decodes(const Attention& op, double decodes, double tokens) const;
  KernelCost attention(const Attention& op, const BatchShape& batch) const;
  PimGemvs::Table& table(const Attention& op) const;
  double busiest_array(const Attention& op, double requests) const;
  Seconds fill_and_drain(const Attention& op, double requests) const;
  std::string cannot_attend(const Attention& op) const;

  KernelCost with_energy(KernelCost cost) const {
    cost.energy = spec_.power.dynamic(cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
    return cost;
  }

  DeviceSpec spec_;
  NpuShape shape_;
};

KernelCost Npu::cost(const KernelWork& work, int unit) const {
  switch (kind_of(work.kernel)) {
    case KernelKind::gemm:
      if (work.rows == 0) return {};
      return with_energy(npu_gemm_cost(shape_, gemm_shape(*work.as<Gemm>(), work.rows)));
    case KernelKind::grouped_gemm: {
      if (work.rows == 0) return {};
      const auto& experts = *work.as<GroupedGemm>();
      return with_energy(
          npu_grouped_gemm_cost(shape_, gemm_shape(experts.each, work.rows), rank_load(experts, work.rows)));
    }
    case KernelKind::attention:
      return with_energy(attention(*work.as<Attention>(), work.batch));
    case KernelKind::logit:
    case KernelKind::attend: {
      std::vector<Seconds> channels(static_cast<std::size_t>(spec_.own().members));
      return cost_by_member(work, unit, channels);
    }
    case KernelKind::softmax:
      return softmax(*work.as<Attention>(), work.batch);
    case KernelKind::elementwise:
      return with_energy(elementwise(work.rows * work.as<Elementwise>()->per_row));
    default:
      no_kernel(work, spec_);
  }
}

KernelCost Npu::elementwise(Bytes bytes) const {
  KernelCost cost;
  cost.moved[own_memory] = bytes;
  cost.compute = Seconds(bytes.value() / (shape_.vector_lanes * lane_bytes * shape_.arrays.clock_hz));
  cost.traffic = bytes / (shape_.arrays.memory_efficiency * spec_.own().bandwidth);
  cost.time = std::max(cost.compute, cost.traffic);
  return cost;
}

// Scores come from the PIM over the bus and go back to it: that traffic is logit's and attend's.
KernelCost Npu::softmax(const Attention& op, const BatchShape& batch) const {
  KernelCost cost;
  const auto scores = static_cast<double>(op.query_heads * batch.decode_context_sum);
  cost.time = cost.compute =
      Seconds(shape_.softmax_cycles * scores / (shape_.vector_lanes * shape_.arrays.clock_hz));
  return cost;
}

// GEMVs of one request and KV head are one array's.
double Npu::busiest_array(const Attention& op, double requests) const {
  const double gemvs = std::max(1.0, requests * static_cast<double>(op.kv_heads));
  return std::ceil(gemvs / static_cast<double>(shape_.arrays.arrays)) / gemvs;
}

// The first tiles cross the bus before anything runs, and fill the arrays; the last row leaves them.
Seconds Npu::fill_and_drain(const Attention& op, double requests) const {
  if (shape_.fitted || requests == 0) return Seconds(0);
  const SystolicArrays& a = shape_.arrays;
  const double used = std::min(static_cast<double>(a.arrays), requests * static_cast<double>(op.kv_heads));
  const double tile = static_cast<double>(a.rows * a.columns) * bytes_per_element(op.kv_cache);
  return Bytes(used * tile) / (a.memory_efficiency * a.bandwidth) +
         Seconds(static_cast<double>(2 * a.rows + a.columns - 2) / a.clock_hz);
}

KernelCost Npu::decodes(const Attention& op, double requests, double tokens) const {
  const DecodeWork work = decode_work(shape_, op, busiest_array(op, requests), requests, tokens);
  KernelCost cost;
  cost.compute = std::max(work.arrays, work.vectors);
  cost.traffic = work.traffic;
  cost.time = std::max(cost.compute, cost.traffic) + fill_and_drain(op, requests);
  cost.flops = work.flops;
  cost.moved[own_memory] = work.memory;
  return cost;
}

KernelCost Npu::attention(const Attention& op, const BatchShape& batch) const {
  KernelCost cost = prefill_attention_cost(shape_, op, batch);
  if (batch.decodes == 0) return cost;
  const KernelCost more =
      decodes(op, static_cast<double>(batch.decodes), static_cast<double>(batch.decode_context_sum));
  cost.time += more.time, cost.compute += more.compute, cost.traffic += more.traffic;
  cost.flops += more.flops, cost.moved[own_memory] += more.moved[own_memory];
  return cost;
}

PimGemvs::Table& Npu::table(const Attention& op) const {
  if (!shape_.pim) throw std::logic_error(spec_.kind + " has no PIM");
  return shape_.pim->table(op.part == Attention::Part::logit ? PimOp::logit : PimOp::attend, op.query_heads,
                           op.head_dim);
}

KernelCost Npu::cost_by_member(const KernelWork& work, int unit, std::span<Seconds> channels) const {
  const KernelKind kind = kind_of(work.kernel);
  if (kind != KernelKind::logit && kind != KernelKind::attend)
    return Device::cost_by_member(work, unit, channels);
  const auto& op = *work.as<Attention>();
  const BatchShape& batch = work.batch;
  if (channels.size() != static_cast<std::size_t>(spec_.own().members) ||
      static_cast<std::int64_t>(batch.contexts.size()) != batch.decodes)
    throw std::logic_error(
        fmt::format("a PIM is asked for {} without the channels of the decodes", work.name));
  PimGemvs::Table& gemvs = table(op);
  std::ranges::fill(channels, Seconds(0));
  KernelCost cost;
  if (batch.decodes == 0) return cost;
  for (const DecodeContext& request : batch.contexts) {
    const PimGemv gemv = gemvs.at(request.tokens);
    channels[static_cast<std::size_t>(request.channel)] += gemv.time;
    cost.energy += gemv.energy;
    cost.moved[own_memory] += gemv.bus;
  }
  cost.time = cost.compute = *std::ranges::max_element(channels);
  cost.traffic = cost.moved[own_memory] / spec_.own().bandwidth;
  cost.flops = Flops(2 * static_cast<double>(op.query_heads * op.head_dim * batch.decode_context_sum));
  cost.energy += spec_.power.dynamic(Flops(0), cost.moved[own_memory], Bytes(0));
  return cost;
}

// Each of what may bound it is a line over the steps; the uppermost one holds until another crosses it.
AffineKernelCost Npu::decode_attention(const KernelWork& work, int) const {
  if (kind_of(work.kernel) != KernelKind::attention)
    throw std::logic_error(
        fmt::format("{} on a PIM is not affine in the step: play its steps one by one", work.name));
  const auto& op = *work.as<Attention>();
  const BatchShape& batch = work.batch;
  constexpr std::int64_t ever = std::int64_t{1} << 50;
  if (batch.decodes == 0) return {{}, {}, ever};
  const auto requests = static_cast<double>(batch.decodes);
  const auto tokens = static_cast<double>(batch.decode_context_sum);
  const double share = busiest_array(op, requests);
  const DecodeWork now = decode_work(shape_, op, share, requests, tokens);
  const DecodeWork more = decode_work(shape_, op, share, 0, requests);
  AffineKernelCost affine;
  affine.first = with_energy(attention(op, batch));
  affine.slope.flops = more.flops;
  affine.slope.moved[own_memory] = more.memory;
  affine.slope = with_energy(affine.slope);
  const std::pair<Seconds, Seconds> lines[] = {
      {now.arrays, more.arrays}, {now.vectors, more.vectors}, {now.traffic, more.traffic}};
  const auto top = *std::max_element(std::begin(lines), std::end(lines));
  affine.slope.time = top.second;
  affine.slope.compute = std::max(more.arrays, more.vectors);
  affine.slope.traffic = more.traffic;
  affine.steps = ever;
  for (const auto& [start, slope] : lines)
    if (slope > top.second) {
      const double crossing = (top.first - start) / (slope - top.second);
      if (crossing < static_cast<double>(ever))
        affine.steps = std::min(affine.steps, static_cast<std::int64_t>(crossing) + 1);
    }
  return affine;
}

std::string Npu::cannot_attend(const Attention& op) const {
  const bool on_pim = op.part == Attention::Part::logit || op.part == Attention::Part::attend;
  if (op.part != Attention::Part::softmax && !sixteen_bits(op.kv_cache))
    return fmt::format("{} attends to a KV cache in bf16 and fp16 alone, not in {}", spec_.kind,
                       to_string(op.kv_cache));
  if (!on_pim) return "";
  if (!shape_.pim) return fmt::format("{} has no PIM: its partitioning is npu_units", spec_.kind);
  if (op.head_dim > shape_.pim->page_elements())
    return fmt::format("{}: a head of {} elements does not fit the PIM's page of {}", spec_.kind, op.head_dim,
                       shape_.pim->page_elements());
  const std::string why = shape_.pim->cannot_play(op.query_heads, op.head_dim);
  return why.empty() ? "" : fmt::format("{}: {}", spec_.kind, why);
}

std::string Npu::cannot_run(std::span<const KernelWork> all) const {
  if (const std::string why = attends_otherwise(spec_.kind, all); !why.empty()) return why;
  for (const KernelWork& work : all) {
    const Gemm* matrix = matrix_of(work);
    if (matrix && !(sixteen_bits(matrix->activations) && sixteen_bits(matrix->weights.number)))
      return fmt::format("{} calculates in bf16 and fp16 alone ({} has {} weights and {} activations)",
                         spec_.kind, work.name, to_string(matrix->weights), to_string(matrix->activations));
    const auto* heads = work.as<Attention>();
    if (const std::string why = heads ? cannot_attend(*heads) : ""; !why.empty()) return why;
  }
  return "";
}

}  // namespace

std::shared_ptr<const Device> make_npu(DeviceSpec spec, NpuShape shape) {
  return std::make_shared<Npu>(std::move(spec), std::move(shape));
}

}  // namespace weir
