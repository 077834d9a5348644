#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/params.h"

namespace weir {

// A trace is asked for these requests, by their numbers, and writes its lines in the order of time.
struct TraceOptions {
  std::vector<std::int32_t> requests;
  std::function<void(const Json& line)> write;
};

}  // namespace weir
