#pragma once
// The requests that `weir run --trace` is asked for: numbers as requests.csv has them, with commas between
// them, or "all". Throws ConfigError for what is no request of the workload, all of it at once, and for more
// than a trace can hold.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/scenario.h"

namespace weir {

std::vector<std::int32_t> traced_requests(const std::string& asked, const Scenario& scenario);

}  // namespace weir
