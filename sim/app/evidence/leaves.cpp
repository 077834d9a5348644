#include "sim/app/evidence/leaves.h"

#include <algorithm>

namespace weir {
namespace {

bool holds_nothing(const Json& value) {
  return value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
}

}  // namespace

bool under_any(const Pointers& prefixes, const std::string& pointer) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) {
    return pointer == prefix || pointer.starts_with(prefix + "/");
  });
}

bool same_value(const Json& a, const Json& b) {
  return a == b || (holds_nothing(a) && holds_nothing(b));
}

std::string shown_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return holds_nothing(value) ? "none" : value.dump();
}

Json value_at(const Json& document, const std::string& pointer) {
  return document.value(Json::json_pointer(pointer), Json());
}

Pointers leaves_of(const Json& a, const Json& b) {
  Pointers all;
  for (const Json* one : {&a, &b})
    if (one->is_object() || one->is_array()) {
      const Json flat = one->flatten();
      for (const auto& [pointer, value] : flat.items()) all.insert(pointer);
    }
  return all;
}

}  // namespace weir
