#pragma once
// Partitioning policies share this: operators on the units that run them.
#include <span>

#include "models/llm/operator_graph.h"
#include "models/machine/machine.h"

namespace weir {

// Index of the first unit that runs the kind; throws std::invalid_argument, in the name of the policy, if
// none does.
int unit_for(std::span<const Unit> units, KernelKind kind, const std::string& what, const char* policy);

// Index of the unit that copies between the device and its host's memory beside whatever else runs: member 0
// there, 1 back. -1: there is no such memory.
int host_link(std::span<const Unit> units);

// Each operator on the first unit that runs it. Throws as unit_for does.
StageGraph each_on_its_unit(StageGraph stage, std::span<const Unit> units, const char* policy);

}  // namespace weir
