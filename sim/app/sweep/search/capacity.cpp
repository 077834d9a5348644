#include "sim/app/sweep/search/capacity.h"

#include <algorithm>
#include <cmath>

namespace weir {

CapacityFound find_capacity(const CapacitySearch& search, double start,
                            const std::function<bool(double)>& met) {
  CapacityFound found;
  const auto probe = [&](double rate) {
    ++found.probes;
    return met(rate);
  };
  double good = 0, bad = 0;
  for (double rate = std::clamp(start, search.lowest, search.highest); good == 0 || bad == 0;) {
    if (probe(rate)) {
      good = rate;
      if (rate >= search.highest) break;
      rate = std::min(2 * rate, search.highest);
    } else {
      bad = rate;
      if (rate <= search.lowest) break;
      rate = std::max(rate / 2, search.lowest);
    }
    if (good > 0 && bad > 0) break;
  }
  found.limited = bad == 0;
  while (good > 0 && bad > 0 && bad > good * (1 + search.precision)) {
    const double middle = std::sqrt(good * bad);
    (probe(middle) ? good : bad) = middle;
  }
  found.rate = good;
  return found;
}

}  // namespace weir
