// No unit of a training machine does more than it can.
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::int64_t steps = 4;

// That somebody begins or stops to hold so much of a unit.
struct HeldChange {
  Seconds at;
  double more = 0;
};

double most_at_once(std::vector<HeldChange> changes) {
  std::ranges::sort(changes, [](const HeldChange& a, const HeldChange& b) {
    return a.at < b.at || (a.at == b.at && a.more < b.more);
  });
  double held = 0, most = 0;
  for (const HeldChange& change : changes) most = std::max(most, held += change.more);
  return most;
}

}  // namespace

TEST_CASE("training: a unit runs one operator at a time, and the pairs that operators need are there",
          "[training]") {
  int shared = 0;
  const int cases = for_random_trainings(2, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(steps);
    const TrainingPlan& plan = step.plan();
    std::vector<std::vector<HeldChange>> held(plan.graph.units.size());
    for (const OperatorRecord& record : step.trace()) {
      if (record.start == record.finish) continue;
      const StepGraph::Alternative& way = way_of(plan, record);
      const double least = way.unit == plan.pairs ? way.least : 1;
      held[static_cast<std::size_t>(way.unit)].push_back({record.start, least});
      held[static_cast<std::size_t>(way.unit)].push_back({record.finish, -least});
    }
    for (std::size_t u = 0; u < held.size(); ++u) {
      CAPTURE(plan.graph.units[u].name);
      const double there = plan.graph.units[u].amount > 0 ? plan.graph.units[u].amount : 1;
      CHECK(most_at_once(held[u]) <= there);
      shared += plan.graph.units[u].amount > 0 && most_at_once(held[u]) > 0.5 * there;
    }
  });
  CHECK(cases > 900);
  CHECK(shared > 100);
}

TEST_CASE("training: an operator on the pairs holds between what it needs and what it can use",
          "[training]") {
  int alone_throughout = 0;
  const int cases = for_random_trainings(3, 40, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(steps);
    const TrainingPlan& plan = step.plan();
    if (plan.pairs < 0) return;
    double least = 0, most = 0, work = 0;
    bool none_is_faster_than_with_most = true;
    for (const OperatorRecord& record : step.trace()) {
      const StepGraph::Alternative& way = way_of(plan, record);
      const double seconds = (record.finish - record.start).value();
      none_is_faster_than_with_most &= seconds >= alone(plan, record).value() * (1 - 1e-6) - 1e-12;
      if (way.unit != plan.pairs) continue;
      CHECK(way.least <= way.most);
      const int vertex = plan.vertex_of[static_cast<std::size_t>(record.op)];
      const auto window = it.graph.operators[static_cast<std::size_t>(vertex)].window;
      if (!it.runtime.policy->operation_pipeline())  // whole windows throughout
        CHECK(way.least == way.most);
      else
        CHECK(way.least <= std::max(1., static_cast<double>(window)));
      CHECK(way.most <= plan.graph.units[static_cast<std::size_t>(plan.pairs)].amount);
      least += way.least * seconds;
      most += way.most * seconds;
      work += way.most * alone(plan, record).value();
    }
    const double busy = step.play(false).busy.at("pairs")[0].value();
    CHECK(none_is_faster_than_with_most);
    CHECK(busy >= least * (1 - 1e-9));
    CHECK(busy <= most * (1 + 1e-9));
    CHECK(busy >= work * (1 - 1e-9));
    alone_throughout += busy > 0 && busy <= work * (1 + 1e-9);  // by no bandwidth slowed
  });
  CHECK(cases > 600);
  CHECK(alone_throughout > 100);
}

TEST_CASE("training: no unit is busy for longer than the run takes", "[training]") {
  int full = 0;
  const int cases = for_random_trainings(4, 40, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(12);
    const TrainingRun run = step.play();
    for (const StepGraph::Unit& unit : step.plan().graph.units) {
      CAPTURE(unit.name);
      const double there = unit.amount > 0 ? unit.amount : 1;
      for (const Seconds busy : run.busy.at(unit.name)) {
        CHECK(busy >= Seconds(0));
        CHECK(busy.value() <= there * run.ends.back().value() * (1 + 1e-9));
        full += busy.value() > 0.9 * there * run.ends.back().value();
      }
    }
  });
  CHECK(cases > 600);
  CHECK(full > 100);
}
