#pragma once
// Which requests a scenario can serve at all: what replicas reject by, and what `weir check` can tell before.
#include <optional>
#include <string>

#include "sim/plan/plan.h"

namespace weir {

// Could a replica of this kind do its part of the request if it had nothing else to do?
bool can_serve(const ReplicaPlan& replica, const Request& request);

// Says so where every request of the workload will be rejected.
std::optional<std::string> why_none_is_served(const Plan& plan);

}  // namespace weir
