#pragma once
// Two JSON documents leaf by leaf, as differences.cpp compares scenarios. A leaf is a value without values in
// it; an empty list or object is one too. Pointers are JSON pointers.
#include <set>
#include <string>

#include "sim/core/params.h"

namespace weir {

using Pointers = std::set<std::string>;

// The leaves of both documents.
Pointers leaves_of(const Json& a, const Json& b);
Json value_at(const Json& document, const std::string& pointer);  // null where it has none
// An integer equals a float of its value, and an empty value equals an absent one.
bool same_value(const Json& a, const Json& b);
std::string shown_value(const Json& value);
// One of the prefixes is the pointer, or holds it.
bool under_any(const Pointers& prefixes, const std::string& pointer);

}  // namespace weir
