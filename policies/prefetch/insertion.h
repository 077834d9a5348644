#pragma once
// Prefetches put into a stage: all of a family's policies have theirs in the same places, and differ in
// beside which communications, and in how much they fetch.
#include <span>
#include <string>
#include <vector>

#include "models/llm/operator_graph.h"
#include "models/machine/machine.h"
#include "policies/prefetch/windows.h"

namespace weir {

// Adds one for all that these windows of the stage reach; throws std::invalid_argument where no unit
// prefetches.
StageGraph insert_prefetches(StageGraph stage, std::span<const Unit> units,
                             std::vector<CommunicationWindow> windows);

}  // namespace weir
