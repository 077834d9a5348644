#include "sim/step/training/operator_cost.h"

#include <algorithm>
#include <stdexcept>

namespace weir {

namespace {

// With what the device draws while any kernel runs.
KernelCost under_limit(KernelCost cost, const PowerSpec& power) {
  const Seconds bound = cost.compute > cost.traffic ? cost.time : Seconds(0);
  const PowerDraw draw{bound, cost.time - bound, cost.clocked, cost.energy - cost.clocked};
  const auto [time, energy] = at_level(power, draw, clock_level(power, draw));
  cost.time = time;
  cost.energy = energy + power.active * time;
  return cost;
}

}  // namespace

KernelCost operator_cost(const Device& device, int unit, std::string_view name,
                         const TensorOperation& operation, BytesPerSecond reach) {
  const Kernel kernel = operation;
  const KernelWork work{.name = name, .kernel = kernel, .rows = 1};
  if (const std::string why = device.cannot_run({&work, 1}); !why.empty()) throw std::invalid_argument(why);
  KernelCost cost = device.cost(work, unit);
  cost.time = std::max(cost.time, cost.moved[own_memory] / reach);
  return under_limit(cost, device.spec().power);
}

}  // namespace weir
