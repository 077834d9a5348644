#include "devices/kernel_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

Collective collective(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::all_reduce:
      return Collective::all_reduce;
    case OperatorKind::all_gather:
      return Collective::all_gather;
    case OperatorKind::all_to_all:
      return Collective::all_to_all;
    default:
      throw std::logic_error("not a collective");
  }
}

std::vector<std::string> types_with_a_peak(const DeviceSpec& device) {
  std::vector<std::string> known;
  for (const DataType t : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
    if (device.peak(t) > FlopsPerSecond(0)) known.push_back(to_string(t));
  return known;
}

}  // namespace

GemmShape gemm_shape(const Operator& op, double rows) {
  return {.rows = rows,
          .in = static_cast<double>(op.in_features),
          .out = static_cast<double>(op.out_features),
          .weight_bytes = bytes_per_element(op.weights),
          .activation_bytes = bytes_per_element(op.activations),
          .output_bytes = bytes_per_element(op.outputs)};
}

AttentionShape attention_shape(const Operator& op) {
  return {.query_heads = static_cast<double>(op.query_heads),
          .kv_heads = static_cast<double>(op.kv_heads),
          .head_dim = static_cast<double>(op.head_dim),
          .kv_bytes = bytes_per_element(op.kv_cache)};
}

ExpertShape expert_shape(const Operator& op) {
  return {op.experts, op.active, op.total_experts};
}

double rows_of(const Operator& op, const BatchShape& batch) {
  return static_cast<double>(op.rows == Rows::sequences ? batch.sequences : batch.tokens());
}

double asked_for(const Operator& op, const BatchShape& batch) {
  if (op.kind == OperatorKind::gemm) return rows_of(op, batch) > 0 ? 1 : 0;
  if (op.kind != OperatorKind::grouped_gemm) return 1;
  return expected_active_experts(expert_shape(op), rows_of(op, batch)) / static_cast<double>(op.experts);
}

KernelCost collective_cost(const Operator& op, double rows, const CollectiveModel& links,
                           const DeviceSpec& device) {
  if (!is_collective(op.kind)) throw std::logic_error(device.kind + " has no kernel for " + op.name);
  const Collective kind = collective(op.kind);
  const Bytes payload = rows * op.bytes_per_row;
  KernelCost cost;
  cost.time = links.time(kind, op.end * payload, op.devices);
  // To the links the chunks are one collective: each takes what the payload takes longer with it, so that the
  // start is paid once. Where more goes faster (measured: another protocol from some size on) it takes none.
  if (op.begin > 0)
    cost.time = std::max(Seconds(0), cost.time - links.time(kind, op.begin * payload, op.devices));
  cost.moved[interconnect] = (op.end - op.begin) * links.sent(kind, payload, op.devices);
  cost.moved[own_memory] = 2 * cost.moved[interconnect];
  cost.traffic = cost.time;
  cost.energy = device.power.dynamic(cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
  return cost;
}

KernelCost with_energy(const DeviceSpec& device, KernelCost cost, DataType type) {
  const FlopsPerSecond peak = device.peak(type),
                       peak_16bit = std::max(device.peak(DataType::bf16), device.peak(DataType::fp16));
  const double half = peak > FlopsPerSecond(0) ? peak_16bit / peak : 1;
  cost.energy = device.power.dynamic(half * cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
  return cost;
}

bool sixteen_bits(DataType type) {
  return type == DataType::bf16 || type == DataType::fp16;
}

std::string lacks_a_peak(const DeviceSpec& device, const StageGraph& stage) {
  for (const Operator* it : operators_of(stage)) {
    const Operator& op = *it;
    const bool matrix = op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
    if (matrix && device.peak(op.activations) <= FlopsPerSecond(0))
      return fmt::format("{} cannot calculate in {} ({}'s activations); it can in {}", device.kind,
                         to_string(op.activations), op.name, fmt::join(types_with_a_peak(device), ", "));
  }
  return "";
}

}  // namespace weir
