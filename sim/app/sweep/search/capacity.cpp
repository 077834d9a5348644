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
  if (!probe(search.lowest)) return found;
  double good = search.lowest, bad = 0;
  double rate = std::min(start > search.lowest ? start : 2 * search.lowest, search.highest);
  while (rate > good) {
    if (probe(rate)) {
      good = rate;
      if (bad > 0) break;
      rate = std::min(2 * rate, search.highest);
    } else {
      bad = rate;
      if (good > search.lowest) break;
      rate /= 2;
    }
  }
  found.limited = bad == 0;
  while (bad > good * (1 + search.precision)) {
    const double middle = std::sqrt(good * bad);
    (probe(middle) ? good : bad) = middle;
  }
  found.rate = good;
  return found;
}

}  // namespace weir
