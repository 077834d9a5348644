// A calibration decides by these: which constants rows tell apart, and what brings errors down within bounds.
#include "sim/app/calibrate/least_squares.h"

#include <catch2/catch.hpp>

using namespace weir;

TEST_CASE("calibration: a constant is told from those before it, or not at all") {
  // One row: the second does what the first does. Its own row tells it, and a third has no effect.
  const std::vector<Told> one = told_by({{6, 3, 0.2}});
  CHECK((one[0].told && !one[1].told && !one[2].told));
  CHECK(one[1].beside == std::vector<std::size_t>{0});
  CHECK(one[2].alone < 1);
  const std::vector<Told> two = told_by({{6, 3, 0.2}, {6, 9, 0.2}});
  CHECK((two[0].told && two[1].told && !two[2].told));
  CHECK(told_by({}).empty());
}

TEST_CASE("calibration: at the edge of noise") {
  CHECK_FALSE(told_by({{1.0}})[0].told);
  CHECK(told_by({{1.01}})[0].told);
}

TEST_CASE("calibration: the best changes meet rows that they can meet, of free constants alone") {
  // Errors of -4 and -10 by 2 a + 1 b and 2 a + 4 b: a = 1, b = 2.
  const Effects effects = {{2, 1}, {2, 4}};
  const std::vector<double> least = {-10, -10}, most = {10, 10};
  const auto both = best_changes({-4, -10}, effects, {true, true}, least, most);
  CHECK(both[0] == Approx(1).margin(1e-3));
  CHECK(both[1] == Approx(2).margin(1e-3));
  const auto one = best_changes({-4, -4}, effects, {true, false}, least, most);
  CHECK(one[0] == Approx(2).margin(1e-3));
  CHECK(one[1] == 0);
}

TEST_CASE("calibration: a bound holds, and the rest makes do") {
  const auto bounded = best_changes({-4, -10}, {{2, 1}, {2, 4}}, {true, true}, {-10, -10}, {0.5, 10});
  CHECK(bounded[0] == Approx(0.5).margin(1e-3));
  CHECK((bounded[1] > 2 && bounded[1] < 3));
  CHECK(best_changes({5}, {{1}}, {true}, {0}, {10})[0] == Approx(0).margin(1e-6));  // it would have to fall
}

TEST_CASE("calibration: a row that nothing explains does not draw the others") {
  std::vector<double> offsets(9, -1);
  offsets.push_back(-60);
  const auto changes = best_changes(offsets, Effects(10, {1}), {true}, {-100}, {100});
  CHECK(changes[0] < 2);  // the mean is 6.9
}
