#pragma once
// What operators cost a device in a batch, each on the unit that it is placed on. Collectives are the links'
// (collective_cost, devices/kernel_shapes.h).
#include "devices/device.h"
#include "models/llm/operator_graph.h"

namespace weir::test {

inline KernelCost priced(const Device& device, const Operator& op, const BatchShape& batch) {
  return device.cost(lowered(op, batch), op.unit);
}

inline AffineKernelCost decode_attention(const Device& device, const Operator& op, const BatchShape& batch) {
  return device.decode_attention(lowered(op, batch), op.unit);
}

inline std::int64_t line_steps(const Device& device, const Operator& op, const BatchShape& batch) {
  return device.line_steps(lowered(op, batch), op.unit);
}

inline std::string cannot_run(const Device& device, const StageGraph& stage) {
  std::vector<KernelWork> all;
  for (const Operator* op : operators_of(stage)) all.push_back(lowered(*op, {}));
  return device.cannot_run(all);
}

// On the first unit of the device that runs it.
inline Operator placed_on(const Device& device, Operator op) {
  op.unit = unit_running(device.spec().units, op.kind());
  return op;
}

}  // namespace weir::test
