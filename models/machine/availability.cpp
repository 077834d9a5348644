#include "models/machine/availability.h"

#include <algorithm>
#include <limits>

namespace weir {

double Availability::speed_at(Seconds time) const {
  double factor = 1;
  for (const auto& [from, to] : speed)
    if (from <= time) factor = to;
  return factor;
}

Seconds Availability::next_change(Seconds time) const {
  for (const auto& change : speed)
    if (change.first > time) return change.first;
  return Seconds(std::numeric_limits<double>::infinity());
}

std::optional<Seconds> Availability::stops() const {
  const auto off = std::ranges::find(state, false, &std::pair<Seconds, bool>::second);
  return off == state.end() ? std::nullopt : std::optional(off->first);
}

}  // namespace weir
