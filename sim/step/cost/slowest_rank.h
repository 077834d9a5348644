#pragma once
// Ranks that run a kernel each on requests of their own, and wait for each other behind it: their time is
// that of the one that takes longest, and what a rank moves and draws is their mean. For Rank alone. Pure.
#include <span>

#include "devices/device.h"

namespace weir {

KernelCost slowest_of(std::span<const KernelCost> ranks);
// As long as all of them are lines and the same one is the slowest.
AffineKernelCost slowest_of(std::span<const AffineKernelCost> ranks);

}  // namespace weir
