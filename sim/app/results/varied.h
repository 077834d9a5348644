#pragma once
// A point of a sweep by what tells it from the others: the keys that vary, and their values in it.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/params.h"

namespace weir {

using Varied =
    std::vector<std::pair<std::string, Json>>;  // JSON pointer into the scenario, value; in the file's order

struct Point {
  std::int64_t index = 0;  // its place among the sweep's points, the same in every run of the same file
  Varied varied;           // the seed is one of them ("/seed") where a sweep repeats seeds
};

const Json* value_of(const Varied& varied, const std::string& pointer);  // null if it is none of them

}  // namespace weir
