#pragma once
// Edits of a good document, for no search through random bytes finds one.
#include <iterator>
#include <span>

#include "sim/core/params.h"

namespace weir::test {

// Puts one of `values` at the place that `where` picks, walking down from the top, or takes it out.
inline void edit(Json& document, std::uint8_t where, std::uint8_t what, std::span<const Json> values) {
  Json* place = &document;
  std::size_t choice = where;
  while (place->is_structured() && !place->empty()) {
    auto below = place->begin();
    std::advance(below, choice % place->size());
    choice = choice / place->size() + (where >> 3);
    Json& child = *below;
    if (child.is_structured() && !child.empty() && what % 7 != 0) {
      place = &child;
      continue;
    }
    if (what >= 250)
      place->erase(below);
    else
      child = values[what % values.size()];
    return;
  }
}

// An edit of every two bytes.
inline void edit(Json& document, std::span<const std::uint8_t> bytes, std::span<const Json> values) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) edit(document, bytes[i], bytes[i + 1], values);
}

}  // namespace weir::test
