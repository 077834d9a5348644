#include <algorithm>

#include "test/step/timeline/brute_force_step.h"

namespace weir::test {

using std::size_t;

std::vector<double> bisected_speeds(const std::vector<std::vector<double>>& demand,
                                    const std::vector<double>& capacity) {
  const size_t flows = demand.size(), resources = capacity.size();
  std::vector<double> speed(flows, 1), dominant(flows, 0);
  std::vector<bool> fixed(flows, false);
  for (size_t f = 0; f < flows; ++f)
    for (size_t r = 0; r < resources; ++r)
      if (demand[f][r] > 0) dominant[f] = std::max(dominant[f], demand[f][r] / capacity[r]);
  const auto raise = [&](double level) {
    for (size_t f = 0; f < flows; ++f)
      if (!fixed[f]) speed[f] = dominant[f] > level ? level / dominant[f] : 1;
  };
  const auto used = [&](size_t r) {
    double sum = 0;
    for (size_t f = 0; f < flows; ++f) sum += demand[f][r] * speed[f];
    return sum;
  };
  const auto fits = [&] {
    for (size_t r = 0; r < resources; ++r)
      if (used(r) > capacity[r] * (1 + 1e-14)) return false;
    return true;
  };
  while (std::find(fixed.begin(), fixed.end(), false) != fixed.end()) {
    double low = 0, high = *std::max_element(dominant.begin(), dominant.end());
    raise(high);
    if (!fits()) {
      for (int i = 0; i < 100; ++i) {
        raise((low + high) / 2);
        (fits() ? low : high) = (low + high) / 2;
      }
      raise(low);
    }
    for (size_t f = 0; f < flows; ++f) {
      if (fixed[f]) continue;
      bool stopped = speed[f] >= 1;
      for (size_t r = 0; r < resources; ++r)
        stopped |= demand[f][r] > 0 && used(r) > capacity[r] * (1 - 1e-9);
      fixed[f] = stopped;
    }
  }
  return speed;
}

}  // namespace weir::test
