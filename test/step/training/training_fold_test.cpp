// Steps that repeat are skipped, and nothing of a run shows it.
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

// Every operator's time is the difference of two readings of the clock, which rounds late in a long run. That
// shows in units whose operators are short beside the run; what is skipped has none of it.
double rounding_of(const TrainingRun& all) {
  std::int64_t operators = 0;
  for (const auto& [place, count] : all.operators) operators += count;
  return static_cast<double>(operators) * std::numeric_limits<double>::epsilon() * all.ends.back().value();
}

void check_same(const TrainingRun& folded, const TrainingRun& all) {
  REQUIRE(folded.ends.size() == all.ends.size());
  bool same_ends = true;
  for (std::size_t i = 0; i < all.ends.size(); ++i)
    same_ends &= folded.ends[i].value() == Approx(all.ends[i].value()).epsilon(1e-9);
  CHECK(same_ends);
  REQUIRE(folded.busy.size() == all.busy.size());
  for (const auto& [unit, members] : all.busy) {
    CAPTURE(unit);
    REQUIRE(folded.busy.at(unit).size() == members.size());
    for (std::size_t m = 0; m < members.size(); ++m)
      CHECK(folded.busy.at(unit)[m].value() ==
            Approx(members[m].value()).epsilon(1e-9).margin(rounding_of(all)));
  }
  REQUIRE(folded.moved.size() == all.moved.size());
  for (const auto& [resource, bytes] : all.moved)
    CHECK(folded.moved.at(resource).value() == Approx(bytes.value()).epsilon(1e-9));
  CHECK(folded.operators == all.operators);
  CHECK(folded.energy.value() == Approx(all.energy.value()).epsilon(1e-9));
}

// A policy that leaves no choice is played by a timeline alone.
std::int64_t skipped_steps(const TrainingStep& step) {
  return Timeline(step.plan().graph).evaluate().skipped_layers;
}

}  // namespace

TEST_CASE("training: folded runs are runs with every step played", "[training]") {
  const int cases = for_random_trainings(11, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(30);
    check_same(step.play(true), step.play(false));
  });
  CHECK(cases > 900);
}

TEST_CASE("training: a thousand folded steps are a thousand steps", "[training]") {
  std::int64_t skipped = 0;
  int without_choice = 0;
  for_random_trainings(12, 3, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(1000);
    check_same(step.play(true), step.play(false));
    if (it.runtime.policy->profiles()) return;
    skipped += skipped_steps(step);
    ++without_choice;
  });
  CHECK(skipped > 900 * without_choice);
}
