#pragma once
// What people call a point: "TP4 PP2", "orca", "rate_per_s 8".
#include <string>
#include <vector>

#include "sim/app/sweep/sweep.h"

namespace weir {

std::string short_name(
    const std::string& pointer);            // its last part that says something: rate_per_s, batching
std::string value_text(const Json& value);  // of a varied key: short, without quotes
// Ranks of parallelism that are 1 are left out, unless all are.
std::string label_of(const Varied& varied);
std::string label_of(const Varied& varied, const std::vector<std::string>& pointers);  // of these alone
// The same without the keys' names: "TP4 PP2, 2048".
std::string brief_label_of(const Varied& varied, const std::vector<std::string>& pointers);
bool is_layout(const std::string& pointer);  // one of the keys that TP, PP, EP and DP stand for
const Json* value_of(const Varied& varied, const std::string& pointer);  // null if it is none of them

}  // namespace weir
