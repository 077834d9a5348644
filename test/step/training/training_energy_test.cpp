// Time and energy of training runs add up, and faster clocks never hurt operators that run one by one.
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

bool places_depend_on_others(const NamedRuntime& runtime) {
  return runtime.policy->operation_pipeline() && runtime.name.find("wait") == std::string::npos;
}

}  // namespace

TEST_CASE("training: a longer run begins with the shorter one, and its energy and bytes only grow",
          "[training]") {
  const int cases = for_random_trainings(17, 40, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    TrainingRun before;
    for (std::int64_t steps = 1; steps <= 5; ++steps) {
      const TrainingRun run = it.run(steps).play(false);
      REQUIRE(std::ssize(run.ends) == steps);
      // A step can only hold up the one before it, whose operators it shares units with.
      for (std::int64_t i = 0; i + 1 < std::ssize(before.ends); ++i)
        CHECK(run.ends[static_cast<std::size_t>(i)] == before.ends[static_cast<std::size_t>(i)]);
      for (std::size_t i = 1; i < run.ends.size(); ++i) CHECK(run.ends[i] > run.ends[i - 1]);
      CHECK(run.ends.front() > Seconds(0));
      CHECK(run.energy > Joules(0));
      for (const auto& [resource, bytes] : run.moved) CHECK(bytes >= Bytes(0));
      // One step more may send operators of the one before elsewhere, where they take less.
      if (!places_depend_on_others(it.runtime)) {
        CHECK(run.energy > before.energy);
        for (const auto& [resource, bytes] : run.moved)
          CHECK(bytes.value() >= before.moved[resource].value() * (1 - 1e-12));
      }
      before = run;
    }
  });
  CHECK(cases > 600);
}

TEST_CASE("training: steps one by one cost as much each", "[training]") {
  int compared = 0;
  for_random_trainings(18, 60, [&](const TrainingCase& it) {
    if (it.runtime.policy->operation_pipeline()) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const auto run = [&](std::int64_t steps) { return it.run(steps).play(); };
    const TrainingRun two = run(2), three = run(3), nine = run(9);
    CHECK(nine.energy.value() ==
          Approx((two.energy + 7. * (three.energy - two.energy)).value()).epsilon(1e-9));
    CHECK(nine.ends.back().value() ==
          Approx((two.ends.back() + 7. * (three.ends.back() - two.ends.back())).value()).epsilon(1e-9));
    ++compared;
  });
  CHECK(compared > 500);
}

TEST_CASE("training: faster clocks never make steps one by one slower", "[training]") {
  int compared = 0, faster = 0;
  for_random_trainings(19, 40, [&](const TrainingCase& it) {
    if (it.runtime.policy->operation_pipeline() || it.runtime.policy->needs().gpu) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    Seconds before(1e300);
    for (const double times : {0.05, 0.5, 1., 1.5, 4., 40.}) {
      TrainingMachine machine = it.random.machine;
      machine.memory = stack_with(it.random.at_clock(times), machine.memory->spec().host_bandwidth);
      const Seconds end = TrainingStep(it.graph, machine, it.runtime.policy, 3).play().ends.back();
      CHECK(end <= before * (1 + 1e-9));
      faster += end < before * 0.99;
      before = end;
    }
    ++compared;
  });
  CHECK(compared > 300);
  CHECK(faster > 300);
}

TEST_CASE("training: a host that waits draws its power for the time in which it runs no operator",
          "[training]") {
  int waited = 0;
  for_random_trainings(23, 30, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    TrainingMachine machine = it.random.machine;
    machine.host_waiting = Watts(7);
    const TrainingRun run = it.run(4).play();
    const Joules more = TrainingStep(it.graph, machine, it.runtime.policy, 4).play().energy - run.energy;
    const RuntimeUnits units = it.runtime.policy->needs();
    const bool waits = units.fixed_function || units.programmable;
    const Seconds idle = waits ? run.ends.back() - run.busy.at("cpu")[0] : Seconds(0);
    CHECK(more.value() == Approx((Watts(7) * idle).value()).epsilon(1e-6).margin(1e-9 * run.energy.value()));
    waited += more > Joules(0);
  });
  CHECK(waited > 100);
}
