#include "devices/profile/profile_tables.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir {
void Curve::add(double at, double value) {
  x.push_back(at);
  y.push_back(value);
}

bool Curve::sort() {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Curve sorted;
  for (const std::size_t i : order) sorted.add(x[i], y[i]);
  *this = std::move(sorted);
  return std::adjacent_find(x.begin(), x.end()) == x.end();
}

Curve::Point Curve::at(double wanted) const {
  if (x.size() == 1) return {y[0], 0, std::numeric_limits<double>::infinity()};
  if (wanted < x.front()) return {y.front(), 0, x.front()};
  auto i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), wanted) - x.begin());
  const double next = i == x.size() ? std::numeric_limits<double>::infinity() : x[i];
  i = std::min(i, x.size() - 1);
  const double slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
  if (wanted >= x.back() && slope < 0) return {y.back(), 0, next};  // noise: more work is never less time
  return {y[i - 1] + slope * (wanted - x[i - 1]), slope, next};
}

Bracket bracket(const std::vector<double>& knots, double wanted) {
  if (wanted <= knots.front() || knots.size() == 1) return {0, 0, 0};
  const auto above = std::lower_bound(knots.begin(), knots.end(), wanted) - knots.begin();
  const std::size_t high = std::min(static_cast<std::size_t>(above), knots.size() - 1), low = high - 1;
  return {low, high, (wanted - knots[low]) / (knots[high] - knots[low])};
}

namespace {

// Blends what lies below two neighbouring knots, asking below a knot only if it has a share.
template <class Axis, class Evaluate>
TimePair blend(const Axis& axis, double wanted, const Evaluate& evaluate) {
  const auto [low, high, share] = bracket(axis.knots, wanted);
  if (share == 0) return evaluate(axis.below[low]);
  if (share == 1) return evaluate(axis.below[high]);
  const TimePair a = evaluate(axis.below[low]), b = evaluate(axis.below[high]);
  return {a.mean + share * (b.mean - a.mean), a.longest + share * (b.longest - a.longest)};
}

}  // namespace

TimePair interpolate(const DecodeTimes& times, double decodes, double mean, double longest) {
  return blend(times, decodes, [&](const Curve& curve) {
    return TimePair{curve.at(mean).value, curve.at(longest).value};
  });
}

TimePair interpolate(const MixedTimes& times, double chunk, double context, double decodes, double mean,
                     double longest) {
  return blend(times, chunk, [&](const Axis<DecodeTimes>& contexts) {
    return blend(contexts, context,
                 [&](const DecodeTimes& below) { return interpolate(below, decodes, mean, longest); });
  });
}

}  // namespace weir
