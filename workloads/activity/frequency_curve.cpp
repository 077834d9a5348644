#include "workloads/activity/frequency_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

#include "sim/core/cache/made_once.h"

namespace weir {
namespace {

constexpr std::size_t ranks = 500;  // a fifth of them is a whole number; 4,000 move no statistic by 1e-4

double mid_rank(std::size_t i) {
  return (static_cast<double>(i) + 0.5) / static_cast<double>(ranks);
}

// Where the fit looks: logarithms of knee and steepness, so that both stay positive.
using Place = std::array<double, 2>;

// What the fit makes small: what hot share, similarity and the top miss.
using Misses = std::array<double, 3>;

// For every knee and steepness there is one curve of the density that reaches up to 1 or down to 0.
FrequencyCurve curve_at(const Place& place, double density) {
  FrequencyCurve curve{0, 1, std::exp(place[0]), std::exp(place[1])};
  const double mean = curve.statistics().density;
  if (mean < density)
    curve.floor = (density - mean) / (1 - mean);
  else
    curve.top = density / mean;
  return curve;
}

Misses misses_at(const Place& place, const ActivityStatistics& wanted) {
  constexpr double weight_of_top = 0.2;  // a top of 0.9 is as bad as 0.02 of the hot share
  const FrequencyCurve curve = curve_at(place, wanted.density);
  const ActivityStatistics has = curve.statistics();
  return {has.hot_share - wanted.hot_share, has.far_similarity - wanted.far_similarity,
          weight_of_top * (1 - curve.top)};
}

double dot(const Misses& a, const Misses& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// One step of Levenberg and Marquardt: solves (J'J + damping) step = -J' misses.
Place stepped(const Place& from, const Misses& misses, const ActivityStatistics& wanted, double damping) {
  constexpr double small = 1e-5;
  std::array<Misses, 2> slope;  // by place, then by miss
  for (std::size_t k = 0; k < 2; ++k) {
    Place beside = from;
    beside[k] += small;
    const Misses moved = misses_at(beside, wanted);
    for (std::size_t i = 0; i < moved.size(); ++i) slope[k][i] = (moved[i] - misses[i]) / small;
  }
  const double a = dot(slope[0], slope[0]) + damping, b = dot(slope[0], slope[1]),
               c = dot(slope[1], slope[1]) + damping;
  const double p = -dot(slope[0], misses), q = -dot(slope[1], misses), determinant = a * c - b * b;
  return {from[0] + (c * p - b * q) / determinant, from[1] + (a * q - b * p) / determinant};
}

struct Fit {
  Place place{};
  double cost = std::numeric_limits<double>::infinity();
};

Fit at_place(const Place& place, const ActivityStatistics& wanted) {
  const Misses misses = misses_at(place, wanted);
  return {place, dot(misses, misses)};
}

// Where a curve meets 0 or 1 there are several valleys: the fit sets out from the best few of a net.
std::vector<Fit> starts(const ActivityStatistics& wanted) {
  constexpr int steps = 8;
  constexpr double least_knee = 0.01, most_knee = 2, most_steepness = 100;
  constexpr std::size_t few = 8;
  std::vector<Fit> net;
  for (int i = 0; i <= steps; ++i)
    for (int j = 0; j <= steps; ++j)
      net.push_back(at_place({std::log(least_knee) + i * std::log(most_knee / least_knee) / steps,
                              j * std::log(most_steepness) / steps},
                             wanted));
  std::ranges::sort(net, {}, &Fit::cost);
  net.resize(few);
  return net;
}

Fit fit_from(Place place, const ActivityStatistics& wanted) {
  constexpr double lowest = 1e-6, highest = 1e3;  // damping; beyond it a step is none
  constexpr double worth = 0.01;                  // a share of the cost; less, and it creeps along a bound
  constexpr double exact = 1e-14;
  Misses misses = misses_at(place, wanted);
  double cost = dot(misses, misses);
  for (double damping = 1e-3; damping < highest && cost > exact;) {
    const Place next = stepped(place, misses, wanted, damping);
    const Misses then = misses_at(next, wanted);
    if (dot(then, then) < cost * (1 - worth)) {
      place = next;
      misses = then;
      cost = dot(then, then);
      damping = std::max(damping / 10, lowest);
    } else {
      damping *= 10;
    }
  }
  return {place, cost};
}

FrequencyCurve nearest_curve(const ActivityStatistics& wanted) {
  Fit best;
  for (const Fit& start : starts(wanted))
    if (const Fit fit = fit_from(start.place, wanted); fit.cost < best.cost) best = fit;
  return curve_at(best.place, wanted.density);
}

}  // namespace

double FrequencyCurve::at(double rank) const {
  return floor + (top - floor) / (1 + std::pow(rank / knee, steepness));
}

ActivityStatistics FrequencyCurve::statistics() const {
  double sum = 0, hot = 0, squared = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    const double f = at(mid_rank(i));
    sum += f;
    squared += f * f;
    if (i + 1 == ranks / 5) hot = sum;
  }
  return {sum / ranks, hot / sum, squared / sum};
}

FrequencyCurve fitted_curve(const ActivityStatistics& wanted) {
  static MadeOnce<std::array<double, 3>, FrequencyCurve> found;
  return found.of({wanted.density, wanted.hot_share, wanted.far_similarity},
                  [&] { return nearest_curve(wanted); });
}

}  // namespace weir
