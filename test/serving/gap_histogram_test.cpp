// Percentiles of inter-token gaps: the nearest rank, as those of requests; a bin is 0.1 % wide.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/serving/record/results.h"

using namespace weir;

namespace {

double gap_ms(Seconds seconds) {
  return 1e3 * seconds.value();
}

Approx within_a_bin(double expected) {
  return Approx(expected).epsilon(6e-4);
}

}  // namespace

TEST_CASE("gaps: a percentile is the least gap that as many are no longer than") {
  GapHistogram two;
  two.add(Seconds(0.010), 1);
  two.add(Seconds(0.040), 1);
  CHECK(gap_ms(two.percentile(50)) == within_a_bin(10));
  CHECK(gap_ms(two.percentile(51)) == within_a_bin(40));
  CHECK(gap_ms(two.percentile(100)) == within_a_bin(40));
  GapHistogram ten;
  for (const int i : {7, 2, 9, 1, 10, 3, 5, 4, 8, 6}) ten.add(Seconds(1e-3 * i), 3);
  for (const auto& [p, expected] :
       {std::pair{0, 1}, {10, 1}, {11, 2}, {50, 5}, {90, 9}, {91, 10}, {99, 10}, {100, 10}}) {
    CAPTURE(p);
    CHECK(gap_ms(ten.percentile(p)) == within_a_bin(expected));
  }
  CHECK(ten.count() == 30);
  CHECK(gap_ms(ten.mean()) == Approx(5.5));
  CHECK(gap_ms(ten.standard_deviation()) == Approx(std::sqrt(8.25)));
  CHECK(GapHistogram().percentile(50) == Seconds(0));
}

TEST_CASE("gaps: a run of steps that grow is each of its steps") {
  for (const auto& [slope, steps] : {std::pair{0., 5}, {1e-6, 1}, {1e-6, 400}, {3e-4, 50}}) {
    GapHistogram run, each;
    run.add_run(Seconds(0.01), Seconds(slope), steps, 4);
    for (int i = 0; i < steps; ++i) each.add(Seconds(0.01 + slope * i), 4);
    CAPTURE(slope, steps);
    CHECK(run.count() == each.count());
    CHECK(gap_ms(run.mean()) == Approx(gap_ms(each.mean())));
    CHECK(gap_ms(run.standard_deviation()) == Approx(gap_ms(each.standard_deviation())).margin(1e-6));
    for (const double p : {0., 1., 25., 50., 75., 99., 100.})
      CHECK(run.percentile(p).value() == Approx(each.percentile(p).value()).epsilon(1.1e-3));
  }
}
