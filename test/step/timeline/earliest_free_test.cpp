// Where an operator with a choice goes by default, from what its units still have to do.
#include <catch2/catch.hpp>

#include "sim/step/timeline/timeline.h"

using namespace weir;

namespace {

UnitState serial(std::vector<double> left) {
  UnitState state;
  for (const double seconds : left) state.left.push_back(Seconds(seconds));
  return state;
}

UnitState pool(double left, double amount, double free, int waiting) {
  UnitState state = serial({left});
  state.amount = amount;
  state.free = free;
  state.waiting = waiting;
  return state;
}

struct Way {
  int unit;
  std::vector<int> members;
  std::vector<Seconds> times;
  double least = 0;
};

int chosen(const std::vector<UnitState>& units, const std::vector<Way>& ways) {
  std::vector<PlacementOption> options;
  for (const Way& way : ways) {
    PlacementOption option;
    option.unit = way.unit;
    option.members = way.members;
    option.times = way.times;
    option.least = way.least;
    option.most = 2 * way.least;
    options.push_back(option);
  }
  return earliest_free(units, 0, options);
}

const Seconds s1(1), s0(0);

}  // namespace

TEST_CASE("earliest free: a gang waits for the last of the members that it needs") {
  const std::vector<UnitState> units = {serial({5, 1, 9}), serial({4}), serial({6})};
  CHECK(chosen(units, {{0, {0, 1}, {s1, s1}}, {2, {0}, {s1}}}) == 0);  // 5 before 6
  CHECK(chosen(units, {{0, {1, 2}, {s1, s1}}, {2, {0}, {s1}}}) == 1);  // 9 behind 6
  CHECK(chosen(units, {{0, {1, 2}, {s1, s0}}, {1, {0}, {s1}}}) == 0);  // nothing to do on the last
  CHECK(chosen(units, {{2, {0}, {s1}}, {1, {0}, {s1}}, {0, {0}, {s1}}}) == 1);
}

TEST_CASE("earliest free: of equals the first one, and of those that only rounding tells apart") {
  CHECK(chosen({serial({4}), serial({4})}, {{0, {0}, {s1}}, {1, {0}, {s1}}}) == 0);
  CHECK(chosen({serial({4}), serial({4 * (1 - 1e-12)})}, {{0, {0}, {s1}}, {1, {0}, {s1}}}) == 0);
  CHECK(chosen({serial({4}), serial({4 * (1 - 1e-8)})}, {{0, {0}, {s1}}, {1, {0}, {s1}}}) == 1);
}

TEST_CASE("earliest free: a pool is free at once where it has the least, else when all shared its work") {
  const auto beside = [](const UnitState& of_pool, double seconds, double least) {
    return chosen({serial({seconds}), of_pool}, {{0, {0}, {s1}}, {1, {0}, {s1}, least}});
  };
  // 60 amount-seconds on 12 are 5 s.
  CHECK(beside(pool(60, 12, 3, 0), 1, 3) == 1);
  CHECK(beside(pool(60, 12, 2, 0), 5.5, 3) == 1);
  CHECK(beside(pool(60, 12, 2, 0), 4.5, 3) == 0);
  CHECK(beside(pool(60, 12, 3, 1), 4.5, 3) == 0);  // another one is before it
  CHECK(beside(pool(60, 12, 3, 1), 5.5, 3) == 1);
}
