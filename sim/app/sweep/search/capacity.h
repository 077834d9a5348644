#pragma once
// The highest rate that meets a condition, by bracketing and bisection.
#include <functional>

#include "sim/app/sweep/search/searches.h"

namespace weir {

struct CapacityFound {
  double rate = 0;       // the highest that was met; 0: not even the lowest was
  bool limited = false;  // it is the highest that may be tried
  int probes = 0;
};

// `met(rate)` is asked of the lowest rate first: where even that is missed, as in a layout whose tokens come
// too slowly one at a time, it is asked no more. Then of rates from `start` on, which is the scenario's own,
// as whoever wrote it knows the order of magnitude: doubled or halved until one is met and the next is not,
// and of geometric means until they lie within the precision. Assumes that what is met at a rate is met
// below.
CapacityFound find_capacity(const CapacitySearch& search, double start,
                            const std::function<bool(double)>& met);

}  // namespace weir
