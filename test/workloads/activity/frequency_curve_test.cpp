// Frequencies over rank: laws over random wishes, and the curves that Hermes needs.
#include "workloads/activity/frequency_curve.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace weir;

TEST_CASE(
    "frequency curve: the density is exact, frequencies fall from at most 1 to at least 0, for any wish") {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 100; ++i) {
    const double hot_share = 0.2 + 0.8 * unit(rng), density = std::max(0.001, unit(rng) * 0.2 / hot_share);
    const double similarity = density + (1 - density) * unit(rng);
    INFO("density " << density << ", hot share " << hot_share << ", similarity " << similarity);
    const FrequencyCurve curve = fitted_curve({density, hot_share, similarity});
    CHECK(curve.statistics().density == Approx(density).epsilon(1e-9));
    CHECK(curve.at(0.0001) <= 1 + 1e-12);
    CHECK(curve.at(1) >= -1e-12);
    for (double rank = 0.01; rank < 1; rank += 0.01) CHECK(curve.at(rank) <= curve.at(rank - 0.009));
  }
}

TEST_CASE("frequency curve: a curve's own statistics lead back to them") {
  std::mt19937_64 rng(8);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 50; ++i) {
    const FrequencyCurve some{0.1 * unit(rng), 1, 0.05 + 0.3 * unit(rng), 2 + 10 * unit(rng)};
    const ActivityStatistics wanted = some.statistics(), has = fitted_curve(wanted).statistics();
    INFO("floor " << some.floor << ", knee " << some.knee << ", steepness " << some.steepness);
    CHECK(has.hot_share == Approx(wanted.hot_share).margin(1e-3));
    CHECK(has.far_similarity == Approx(wanted.far_similarity).margin(1e-3));
  }
}

TEST_CASE(
    "frequency curve: 80 % in the hottest 20 % and a far similarity of 0.7 go together below density 0.2") {
  for (const double density : {0.05, 0.1, 0.15, 0.2}) {
    INFO("density " << density);
    const FrequencyCurve curve = fitted_curve({density, 0.8, 0.7});
    const double margin = density < 0.2 ? 1e-3 : 0.006;
    CHECK(curve.statistics().hot_share == Approx(0.8).margin(margin));
    CHECK(curve.statistics().far_similarity == Approx(0.7).margin(margin));
    CHECK(curve.top == Approx(1));
  }
}

// The fit is no worse than the best of a net over all curves, but for corners where several valleys meet.
TEST_CASE("frequency curve: trying a net of curves finds none that is much nearer to what is wanted") {
  std::mt19937_64 rng(9);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 20; ++i) {
    const double hot_share = 0.2 + 0.8 * unit(rng), density = std::max(0.01, unit(rng) * 0.2 / hot_share);
    const ActivityStatistics wanted{density, hot_share, density + (1 - density) * unit(rng)};
    const auto missed = [&](const FrequencyCurve& curve) {
      const ActivityStatistics has = curve.statistics();
      return std::hypot(has.hot_share - hot_share, has.far_similarity - wanted.far_similarity,
                        0.2 * (1 - curve.top));
    };
    double least = 1;
    for (double knee = 0.01; knee < 2; knee *= 1.2)
      for (double steepness = 1; steepness < 100; steepness *= 1.3) {
        FrequencyCurve curve{0, 1, knee, steepness};
        const double mean = curve.statistics().density;
        (mean < density ? curve.floor : curve.top) =
            mean < density ? (density - mean) / (1 - mean) : density / mean;
        least = std::min(least, missed(curve));
      }
    INFO("density " << density << ", hot share " << hot_share << ", similarity " << wanted.far_similarity);
    CHECK(missed(fitted_curve(wanted)) < least + 0.04);
  }
}

// A fifth of the neurons is then always active, and the rest alike: 0.2 + 0.8 / 16^2 over 0.25.
TEST_CASE("frequency curve: at density 0.25 it cannot be less similar than 0.81 unless fewer are hot") {
  const ActivityStatistics close = fitted_curve({0.25, 0.8, 0.8125}).statistics();
  CHECK(close.hot_share == Approx(0.8).margin(0.005));
  const ActivityStatistics has = fitted_curve({0.25, 0.8, 0.7}).statistics();
  CHECK(has.hot_share < 0.79);
  CHECK(has.far_similarity > 0.71);
}
