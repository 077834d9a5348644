// No training run can beat these: arithmetic over peaks, bytes over bandwidth, the longest path.
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"
#include "test/step/training/training_path.h"

using namespace weir;
using namespace weir::test;

namespace {

// All units that may do products reach this together.
FlopsPerSecond peak_of(const TrainingCase& it) {
  const RuntimeUnits needs = it.runtime.policy->needs();
  const TrainingMachine& machine = it.random.machine;
  if (needs.gpu) return machine.gpu->spec().peak(DataType::fp32);
  FlopsPerSecond peak = machine.cpu->spec().peak(DataType::fp32);
  if (needs.fixed_function) peak += peak_of_pairs(it.random.processors);
  if (needs.programmable) peak += peak_of_cores(it.random.processors);
  return peak;
}

}  // namespace

TEST_CASE("training: no run does more than all units at their peaks, or moves more than resources carry",
          "[training]") {
  const int cases = for_random_trainings(5, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const std::int64_t steps = 10;
    const TrainingStep step = it.run(steps);
    const TrainingRun run = step.play();
    const Seconds least = static_cast<double>(steps) * (matrix_flops(it.graph) / peak_of(it));
    CHECK(run.ends.back() >= least * (1 - 1e-9));
    for (const StepGraph::Resource& resource : step.plan().graph.resources) {
      CAPTURE(resource.name);
      CHECK(run.ends.back() >= run.moved.at(resource.name) / resource.capacity * (1 - 1e-9));
    }
  });
  CHECK(cases > 900);
}

TEST_CASE("training: every tensor is moved once a step, and of split operators the patches twice more",
          "[training]") {
  const std::int64_t steps = 3;
  const int cases = for_random_trainings(6, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingRun run = it.run(steps).play();
    const double once = static_cast<double>(steps) * bytes_moved(it.graph).value();
    const double patches = static_cast<double>(steps) * 8 * patch_elements_of_gradients(it.graph);
    const bool splits = it.runtime.policy->needs().fixed_function;
    const double moved = run.moved.at(it.runtime.policy->needs().gpu ? "gpu_memory" : "stack").value();
    CHECK(moved >= once * (1 - 1e-9));
    CHECK(moved <= (once + (splits ? patches : 0)) * (1 + 1e-9));
    if (it.runtime.name == "cpu_only") CHECK(run.moved.at("host_link").value() == Approx(once).epsilon(1e-9));
    if (it.random.machine.gpu) CHECK((run.moved.at("gpu_link") > Bytes(0)) == it.runtime.policy->needs().gpu);
  });
  CHECK(cases > 900);
}

TEST_CASE("training: no step is shorter than the longest path of its operators", "[training]") {
  int paths = 0;
  const int cases = for_random_trainings(7, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(4);
    const std::vector<OperatorRecord> trace = step.trace();
    const std::vector<Seconds> least = ends_on_longest_paths(step.plan(), trace);
    const std::vector<Seconds> ends = ends_of_steps(step.plan(), trace);
    REQUIRE(ends.size() == least.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      CHECK(ends[i] >= least[i] * (1 - 1e-9));
      paths += ends[i] <= least[i] * (1 + 1e-9);
    }
  });
  CHECK(cases > 900);
  CHECK(paths > 1000);
}
