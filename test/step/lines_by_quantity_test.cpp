// Lines of steps are lines in all that is counted of a step, not in its time alone; and how many are played.
#include <catch2/catch.hpp>
#include <functional>

#include "sim/step/lines.h"

using namespace weir;

namespace {

// 1001 steps of 2 s, in which what `add` adds grows with each step behind step 300.
StepCost total_of_bent(const std::function<void(StepCost&, double)>& add) {
  const auto play = [&](std::int64_t step) {
    PlayedCost played{.cost = {.time = Seconds(2)}};
    add(played.cost, step > 300 ? static_cast<double>(step - 300) : 0);
    return played;
  };
  std::vector<StepRun> runs;
  CHECK(append_lines(play, 1001, 1'000'000, runs) == 1001);
  StepCost sum;
  for (const StepRun& run : runs) sum += run.total(run.steps);
  CHECK(sum.time.value() == Approx(2002));
  return sum;
}

// 1 + 2 + ... + 700
constexpr double bent = 700. * 701 / 2;

std::int64_t covered(std::int64_t steps, std::int64_t most, bool line, std::int64_t& played) {
  played = 0;
  const auto play = [&](std::int64_t step) {
    ++played;
    PlayedCost cost{.cost = {.time = Seconds(1)}, .between = Between::line};
    if (!line) cost.causes = static_cast<std::uint64_t>(step);
    return cost;
  };
  std::vector<StepRun> runs;
  const std::int64_t all = append_lines(play, steps, most, runs);
  std::int64_t sum = 0;
  for (const StepRun& run : runs) sum += run.steps;
  CHECK(sum == all);
  return all;
}

}  // namespace

TEST_CASE("lines: steps of equal times are cut where any other quantity bends") {
  using Cost = StepCost&;
  CHECK(total_of_bent([](Cost c, double x) { c.moved[own_memory] = Bytes(x); }).moved[own_memory].value() ==
        Approx(bent));
  CHECK(total_of_bent([](Cost c, double x) { c.energy = Joules(x); }).energy.value() == Approx(bent));
  CHECK(total_of_bent([](Cost c, double x) { c.prefetch.fetched = Bytes(x); }).prefetch.fetched.value() ==
        Approx(bent));
  CHECK(total_of_bent([](Cost c, double x) { c.prefetch.used = Bytes(x); }).prefetch.used.value() ==
        Approx(bent));
  for (const std::size_t unit : {std::size_t{0}, std::size_t{3}, StepCost::most_units - 1}) {
    CAPTURE(unit);
    CHECK(total_of_bent([&](Cost c, double x) { c.busy[unit] = Seconds(x); }).busy[unit].value() ==
          Approx(bent));
  }
}

TEST_CASE("lines: as many steps are played as may be, and what is covered ends with them") {
  std::int64_t played = 0;
  // The two ends of a line are enough for all of it; once both are spent the last step is left to the next.
  CHECK(covered(50, 3, true, played) == 50);
  CHECK(played == 2);
  CHECK(covered(50, 2, true, played) == 49);
  CHECK(played == 2);
  CHECK(covered(1, 1, true, played) == 1);
  CHECK(played == 1);
  CHECK(covered(2, 9, true, played) == 2);
  CHECK(played == 2);
  // Causes that are other in every step: 0 and 9, then 1, where they change; the piece before 1 is one step.
  CHECK(covered(10, 3, false, played) == 1);
  CHECK(played == 3);
}
