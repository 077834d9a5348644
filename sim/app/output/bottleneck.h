#pragma once
// One answer to "what should I buy or turn to go faster": what bounds a run, with the numbers that say so.
#include <string>

#include "sim/app/output/metrics.h"

namespace weir {

struct Bottleneck {
  std::string by;      // arrivals, KV capacity, compute, memory, links, host
  std::string reason;  // in numbers, one line
};

Bottleneck find_bottleneck(const Scenario& scenario, const RunResult& result, const Metrics& metrics);

}  // namespace weir
