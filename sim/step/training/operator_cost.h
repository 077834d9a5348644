#pragma once
// A training operator, or a part of one, on a unit of a device that may be reached over a link: for the
// profile of a step and for the steps that are placed, which price operators alike.
#include <string_view>

#include "devices/device.h"

namespace weir {

// The cost of it alone, under the device's power limit; its bytes move at `reach` at most, since a device
// knows its own memory and not the link that this may be reached over. Joules are above idle. `name` is the
// operator's type. Throws std::invalid_argument where the device cannot run it.
KernelCost operator_cost(const Device& device, int unit, std::string_view name,
                         const TensorOperation& operation, BytesPerSecond reach);

}  // namespace weir
