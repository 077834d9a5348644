#pragma once
// When a device is slower or faster than its catalog row says, and when it is off: what SimGrid calls the
// profiles of a host. Before the first entry it is there, at its own speed.
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace weir {

struct Availability {
  std::vector<std::pair<Seconds, double>> speed;  // from then on, as a factor > 0; times ascend
  std::vector<std::pair<Seconds, bool>> state;    // from then on: is it on?

  bool always() const { return speed.empty() && state.empty(); }
  double speed_at(Seconds time) const;
  // The first change of its speed after `time`; infinite where none is left.
  Seconds next_change(Seconds time) const;
  std::optional<Seconds> stops() const;  // the first time that it is off
};

}  // namespace weir
