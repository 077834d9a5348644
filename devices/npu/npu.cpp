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
  KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const override;
  KernelCost cost_by_member(const Operator& op, const BatchShape& batch,
                            std::span<Seconds> channels) const override;
  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override;
  // The fullest channel is waited for, and a request fills pages and tiles of its own: no line.
  std::int64_t line_steps(const Operator& op, const BatchShape& decodes) const override {
    return spec_.own().members > 1 ? 1 : Device::line_steps(op, decodes);
  }
  std::string cannot_run(const StageGraph& stage) const override;

 private:
  KernelCost elementwise(Bytes bytes) const;
  KernelCost softmax(const Operator& op, const BatchShape& batch) const;
  KernelCost decodes(const Operator& op, double decodes, double tokens) const;
  KernelCost attention(const Operator& op, const BatchShape& batch) const;
  PimGemvs::Table& table(const Operator& op) const;
  double busiest_array(const Operator& op, double requests) const;
  Seconds fill_and_drain(const Operator& op, double requests) const;

  KernelCost with_energy(KernelCost cost) const {
    cost.energy = spec_.power.dynamic(cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
    return cost;
  }

  DeviceSpec spec_;
  NpuShape shape_;
};

KernelCost Npu::cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const {
  const double rows = rows_of(op, batch);
  switch (op.kind) {
    case OperatorKind::gemm:
      return rows == 0 ? KernelCost{} : with_energy(npu_gemm_cost(shape_, gemm_shape(op, rows)));
    case OperatorKind::grouped_gemm:
      if (rows == 0) return {};
      return with_energy(npu_grouped_gemm_cost(shape_, gemm_shape(op, rows), expert_shape(op)));
    case OperatorKind::attention:
      return with_energy(attention(op, batch));
    case OperatorKind::logit:
    case OperatorKind::attend: {
      std::vector<Seconds> channels(static_cast<std::size_t>(spec_.own().members));
      return cost_by_member(op, batch, channels);
    }
    case OperatorKind::softmax:
      return softmax(op, batch);
    case OperatorKind::elementwise:
      return with_energy(elementwise(rows * op.bytes_per_row));
    default:
      return rows == 0 ? KernelCost{} : collective_cost(op, rows, links, spec_);
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
KernelCost Npu::softmax(const Operator& op, const BatchShape& batch) const {
  KernelCost cost;
  const auto scores = static_cast<double>(op.query_heads * batch.decode_context_sum);
  cost.time = cost.compute =
      Seconds(shape_.softmax_cycles * scores / (shape_.vector_lanes * shape_.arrays.clock_hz));
  return cost;
}

// GEMVs of one request and KV head are one array's.
double Npu::busiest_array(const Operator& op, double requests) const {
  const double gemvs = std::max(1.0, requests * static_cast<double>(op.kv_heads));
  return std::ceil(gemvs / static_cast<double>(shape_.arrays.arrays)) / gemvs;
}

// The first tiles cross the bus before anything runs, and fill the arrays; the last row leaves them.
Seconds Npu::fill_and_drain(const Operator& op, double requests) const {
  if (shape_.fitted || requests == 0) return Seconds(0);
  const SystolicArrays& a = shape_.arrays;
  const double used = std::min(static_cast<double>(a.arrays), requests * static_cast<double>(op.kv_heads));
  const double tile = static_cast<double>(a.rows * a.columns) * bytes_per_element(op.kv_cache);
  return Bytes(used * tile) / (a.memory_efficiency * a.bandwidth) +
         Seconds(static_cast<double>(2 * a.rows + a.columns - 2) / a.clock_hz);
}

KernelCost Npu::decodes(const Operator& op, double requests, double tokens) const {
  const DecodeWork work = decode_work(shape_, op, busiest_array(op, requests), requests, tokens);
  KernelCost cost;
  cost.compute = std::max(work.arrays, work.vectors);
  cost.traffic = work.traffic;
  cost.time = std::max(cost.compute, cost.traffic) + fill_and_drain(op, requests);
  cost.flops = work.flops;
  cost.moved[own_memory] = work.memory;
  return cost;
}

KernelCost Npu::attention(const Operator& op, const BatchShape& batch) const {
  KernelCost cost = prefill_attention_cost(shape_, op, batch);
  if (op.prefill_only || batch.decodes == 0) return cost;
  const KernelCost more =
      decodes(op, static_cast<double>(batch.decodes), static_cast<double>(batch.decode_context_sum));
  cost.time += more.time, cost.compute += more.compute, cost.traffic += more.traffic;
  cost.flops += more.flops, cost.moved[own_memory] += more.moved[own_memory];
  return cost;
}

PimGemvs::Table& Npu::table(const Operator& op) const {
  if (!shape_.pim) throw std::logic_error(spec_.kind + " has no PIM for " + op.name);
  return shape_.pim->table(op.kind == OperatorKind::logit ? PimOp::logit : PimOp::attend, op.query_heads,
                           op.head_dim);
}

KernelCost Npu::cost_by_member(const Operator& op, const BatchShape& batch,
                               std::span<Seconds> channels) const {
  if (op.kind != OperatorKind::logit && op.kind != OperatorKind::attend)
    throw std::logic_error(op.name + " is not an operator of several channels");
  if (channels.size() != static_cast<std::size_t>(spec_.own().members) ||
      static_cast<std::int64_t>(batch.contexts.size()) != batch.decodes)
    throw std::logic_error("a PIM is asked for " + op.name + " without the channels of the decodes");
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
AffineKernelCost Npu::decode_attention(const Operator& op, const BatchShape& batch) const {
  if (op.kind != OperatorKind::attention)
    throw std::logic_error(op.name + " on a PIM is not affine in the step: play its steps one by one");
  constexpr std::int64_t ever = std::int64_t{1} << 50;
  if (op.prefill_only || batch.decodes == 0) return {{}, {}, ever};
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

std::string Npu::cannot_run(const StageGraph& stage) const {
  for (const Operator* it : operators_of(stage)) {
    const Operator& op = *it;
    const bool matrix = op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
    const bool on_pim = op.kind == OperatorKind::logit || op.kind == OperatorKind::attend;
    if (matrix && !(sixteen_bits(op.activations) && sixteen_bits(op.weights)))
      return fmt::format("{} calculates in bf16 and fp16 alone ({} has {} weights and {} activations)",
                         spec_.kind, op.name, to_string(op.weights), to_string(op.activations));
    if ((on_pim || op.kind == OperatorKind::attention) && !sixteen_bits(op.kv_cache))
      return fmt::format("{} attends to a KV cache in bf16 and fp16 alone, not in {}", spec_.kind,
                         to_string(op.kv_cache));
    if (on_pim && !shape_.pim) return fmt::format("{} has no PIM: its partitioning is npu_units", spec_.kind);
    if (on_pim && op.head_dim > shape_.pim->page_elements())
      return fmt::format("{}: a head of {} elements does not fit the PIM's page of {}", spec_.kind,
                         op.head_dim, shape_.pim->page_elements());
    if (const std::string why = on_pim ? shape_.pim->cannot_play(op.query_heads, op.head_dim) : "";
        !why.empty())
      return fmt::format("{}: {}", spec_.kind, why);
  }
  return "";
}

}  // namespace

std::shared_ptr<const Device> make_npu(DeviceSpec spec, NpuShape shape) {
  return std::make_shared<Npu>(std::move(spec), std::move(shape));
}

}  // namespace weir
