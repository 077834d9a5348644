#pragma once
// Where the operators of an NPU run, whatever does the attention of decodes: npu_units and npu_pim share it.
#include <span>
#include <string>

#include "models/llm/operator_graph.h"

namespace weir {

// The unit's index; throws std::invalid_argument, in the name of the policy, if the device lacks it.
int unit_named(std::span<const std::string> units, const char* unit, const char* policy);

// GEMMs and attention on the systolic arrays, what lies between them on the vector units, collectives on the
// link.
StageGraph place_on_npu(StageGraph stage, std::span<const std::string> units, const char* policy);

}  // namespace weir
