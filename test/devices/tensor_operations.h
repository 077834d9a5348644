#pragma once
// Whole operators of training steps as a device prices them: those of a net, and random ones, which are held
// to laws.
#include "devices/device.h"
#include "models/nn/net_catalog.h"
#include "models/nn/operations.h"
#include "test/policies/dice.h"

namespace weir::test {

inline KernelCost priced(const Device& device, const TensorOperation& operation, int unit = 0,
                         std::string_view type = "Conv2D") {
  const Kernel kernel = operation;
  return device.cost({.name = type, .kernel = kernel, .rows = 1}, unit);
}

inline Device::PoolShare pool_share(const Device& device, const TensorOperation& operation) {
  const Kernel kernel = operation;
  return device.pool_share({.name = "Conv2D", .kernel = kernel, .rows = 1}, 0);
}

struct PricedOperator {
  OperatorType type;
  KernelCost cost;
};

// One by one, on one unit.
inline std::vector<PricedOperator> priced_step(const Device& device, const std::string& net, int unit = 0) {
  const TrainingGraph graph = build_training_graph(catalog_net(net));
  std::vector<PricedOperator> step;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
    const OperatorType type = graph.operators[v].type;
    step.push_back({type, priced(device, operation_of(graph, v), unit, to_string(type))});
  }
  return step;
}

// Half of them products, with windows and patches, half of them elementwise ones, a few of nothing at all.
inline TensorOperation random_tensor_operation(Dice& dice) {
  const auto number = [&](int digits) {
    return static_cast<double>(dice(0, std::int64_t{1} << dice(0, digits)));
  };
  TensorOperation operation;
  if (dice(0, 1)) {
    operation.product = {1 + number(20), 1 + number(12), 1 + number(12)};
    const auto& [rows, in, out] = operation.product;
    operation.work = {rows * in * out, rows * in * out, 0};
    operation.read = Bytes(4 * (rows * in + in * out));
    operation.written = Bytes(4 * rows * out);
    const std::int64_t side = std::int64_t{2} * dice(0, 5) + 1;
    operation.window = side * side;
    if (dice(0, 1))
      operation.patches = {.elements = rows * in,
                           .height = side,
                           .width = side,
                           .stride = dice(1, 2),
                           .map_width = std::int64_t{28} << dice(0, 2),
                           .channels = std::int64_t{1} << 2 * dice(0, 3)};
  } else {
    operation.work = {number(30), number(30), number(30) * static_cast<double>(dice(0, 1))};
    operation.read = Bytes(4 * number(30));
    operation.written = Bytes(4 * number(30));
  }
  return operation;
}

}  // namespace weir::test
