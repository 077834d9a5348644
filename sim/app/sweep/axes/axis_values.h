#pragma once
// The values of one axis, of a sweep or of a study: a list, or {"from", "to", "steps", "scale"}.
#include <functional>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

inline constexpr std::int64_t most_values = 100'000;  // an axis

// None where `given` is neither, which is a problem at `at`; none either where `admits`, which is asked
// before a range is made, refuses so many.
std::vector<Json> axis_values(const Json& given, const std::string& at, Reading& reading,
                              const std::function<bool(double)>& admits);
Json axis_values_schema();

}  // namespace weir
