#pragma once
// Prefetches put into a stage: all of a family's policies have theirs in the same places, and differ in
// beside which communications, and in how much they fetch.
#include <span>
#include <string>
#include <vector>

#include "policies/prefetch/windows.h"

namespace weir {

// Of all that these windows of the stage reach, on the unit "prefetch"; std::invalid_argument without one.
StageGraph insert_prefetches(StageGraph stage, std::span<const std::string> units,
                             std::vector<CommunicationWindow> windows);

}  // namespace weir
