#include "sim/step/training/operator_cost.h"

#include <algorithm>
#include <stdexcept>

namespace weir {

KernelCost operator_cost(const Device& device, int unit, std::string_view name,
                         const TensorOperation& operation, BytesPerSecond reach) {
  const Kernel kernel = operation;
  const KernelWork work{.name = name, .kernel = kernel, .rows = 1};
  if (const std::string why = device.cannot_run({&work, 1}); !why.empty()) throw std::invalid_argument(why);
  KernelCost cost = device.cost(work, unit);
  cost.time = std::max(cost.time, cost.moved[own_memory] / reach);
  return cost;
}

}  // namespace weir
