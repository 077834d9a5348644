// Where operators of training steps run, and the step that is spent on a profile.
#include <catch2/catch.hpp>

#include "models/nn/operations.h"
#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("training: every operator of every step runs in one place, which its policy has for it",
          "[training]") {
  std::map<OperatorPlace, int> ran;
  const int cases = for_random_trainings(15, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const std::int64_t steps = 1 + it.round % 7;
    const TrainingRun run = it.run(steps).play();
    const auto vertices = static_cast<std::int64_t>(boost::num_vertices(it.graph.operators));
    std::int64_t sum = 0;
    for (const auto& [place, operators] : run.operators) {
      CHECK(operators >= 0);
      sum += operators;
      ran[place] += operators > 0;
    }
    CHECK(sum == steps * vertices);
    if (it.runtime.name == "cpu_only") CHECK(run.operators.at(OperatorPlace::cpu) == steps * vertices);
    if (it.runtime.name == "gpu_only") CHECK(run.operators.at(OperatorPlace::gpu) == steps * vertices);
    if (it.runtime.name == "progr_pim")
      CHECK(run.operators.at(OperatorPlace::programmable) == steps * vertices);
  });
  CHECK(cases > 900);
  for (const OperatorPlace place : {OperatorPlace::cpu, OperatorPlace::gpu, OperatorPlace::programmable,
                                    OperatorPlace::fixed_function, OperatorPlace::split})
    CHECK(ran[place] > 20);
}

TEST_CASE("training: a profiled step is all operators on the CPU, one by one", "[training]") {
  int profiled = 0;
  for_random_trainings(16, 40, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(1);
    if (!it.runtime.policy->profiles()) {
      CHECK(step.profile().empty());
      return;
    }
    // The same step without a runtime.
    const TrainingRun on_cpu =
        TrainingStep(it.graph, it.random.machine, all_runtimes(false)[12].policy, 1).play();
    const TrainingRun run = step.play();
    REQUIRE(run.ends.size() == 1);
    CHECK(run.ends[0].value() == Approx(on_cpu.ends[0].value()).epsilon(1e-9));
    CHECK(run.energy.value() == Approx(on_cpu.energy.value()).epsilon(1e-9));
    CHECK(run.busy.at("cpu")[0].value() == Approx(on_cpu.busy.at("cpu")[0].value()).epsilon(1e-9));
    CHECK(run.operators == on_cpu.operators);
    for (const auto& [resource, bytes] : on_cpu.moved)
      CHECK(run.moved.at(resource).value() == Approx(bytes.value()).epsilon(1e-9));
    Seconds sum;
    int invocations = 0;
    for (const TypeProfile& type : step.profile()) {
      sum += type.time;
      invocations += type.invocations;
      CHECK(count_by_type(it.graph).at(type.type) == type.invocations);
    }
    CHECK(sum.value() == Approx(run.ends[0].value()).epsilon(1e-9));
    CHECK(invocations == static_cast<int>(boost::num_vertices(it.graph.operators)));
    ++profiled;
  });
  CHECK(profiled == 480);
}

TEST_CASE("training: without recursive kernels the host awaits each image of what the pairs do, or an update",
          "[training]") {
  int awaited = 0, updates = 0;
  for_random_trainings(22, 40, [&](const TrainingCase& it) {
    if (it.runtime.policy->recursive_kernels() || !it.runtime.policy->needs().fixed_function) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(3);
    const TrainingPlan& plan = step.plan();
    double kernels = 0, on_cores = 0;
    for (const OperatorRecord& record : step.trace()) {
      const int v = plan.vertex_of[static_cast<std::size_t>(record.op)];
      if (v < 0 || plan.chooser[static_cast<std::size_t>(v)] != record.op) continue;
      const bool update = it.graph.operators[static_cast<std::size_t>(v)].phase == TrainingPhase::update;
      switch (
          plan.ways[static_cast<std::size_t>(v)][static_cast<std::size_t>(record.alternative)].option.place) {
        case OperatorPlace::programmable:
          ++on_cores;
          break;
        case OperatorPlace::fixed_function:
        case OperatorPlace::split:
          kernels += update ? 1 : static_cast<double>(it.graph.batch);
          updates += update && it.graph.batch > 1;
          break;
        default:
          break;
      }
    }
    const Seconds each = it.random.machine.synchronisation, host = step.play().busy.at("host")[0];
    CHECK(host >= kernels * each * (1 - 1e-9));
    CHECK(host <= (kernels + on_cores) * each * (1 + 1e-9));  // reshapes take nothing
    awaited += kernels > 0 && it.graph.batch > 1;
  });
  CHECK(awaited > 100);
  CHECK(updates > 100);
}
