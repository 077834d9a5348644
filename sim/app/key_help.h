#pragma once
// A JSON Schema object of ours tells people of its keys, line by line: name, help, what it takes,
// default.
#include <string>

#include "sim/app/wrap.h"
#include "sim/core/params.h"

namespace weir {

// An entry a key, those of nested objects as `input.mean`; `kind` and `about` are left out.
std::string key_help(const Json& object, std::size_t width = unbounded, const std::string& prefix = "");

}  // namespace weir
