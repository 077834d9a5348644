// The smallest training runs.
#include <catch2/catch.hpp>

#include "test/models/nn/random_net.h"
#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

void check_run(const TrainingGraph& graph, const TrainingMachine& machine, const NamedRuntime& runtime,
               std::int64_t steps) {
  CAPTURE(runtime.name, steps);
  const TrainingStep step(graph, machine, runtime.policy, steps);
  const TrainingRun run = step.play();
  REQUIRE(std::ssize(run.ends) == steps);
  CHECK(run.ends.front() > Seconds(0));
  CHECK(run.busy.size() == step.plan().graph.units.size());
  CHECK(run.moved.size() == step.plan().graph.resources.size());
  const std::int64_t placed = steps - (runtime.policy->profiles() ? 1 : 0);
  CHECK(std::ssize(step.trace()) == placed * std::ssize(step.plan().graph.operators));
  std::int64_t operators = 0;
  for (const auto& [place, count] : run.operators) operators += count;
  CHECK(operators == steps * static_cast<std::int64_t>(boost::num_vertices(graph.operators)));
}

}  // namespace

TEST_CASE("training: one step is a run, and where it is profiled nothing is placed", "[training]") {
  const int cases = for_random_trainings(20, 30, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.random.described);
    check_run(it.graph, it.random.machine, it.runtime, 1);
    check_run(it.graph, it.random.machine, it.runtime, 2);
  });
  CHECK(cases > 450);
}

TEST_CASE("training: a batch of one is one kernel an operator, and the host awaits it as often either way",
          "[training]") {
  std::mt19937 random(21);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const TrainingGraph graph = build_training_graph(random_net(random).net, 1);
    const RandomMachine made = random_machine(random);
    for (const NamedRuntime& runtime : all_runtimes(made.machine.gpu != nullptr))
      check_run(graph, made.machine, runtime, 3);
    for (const char* when_busy : {"wait", "sooner", "cpu"})
      for (const bool pipeline : {false, true}) {
        const auto ends = [&](bool recursive_kernels) {
          return TrainingStep(graph, made.machine,
                              hetero_runtime(recursive_kernels, pipeline, when_busy).policy, 4)
              .play()
              .ends;
        };
        CHECK(ends(false) == ends(true));
      }
  }
}

TEST_CASE("training: a net of a single layer trains", "[training]") {
  Net net{.name = "one", .batch = 4, .inputs = {{"images", {6}}}};
  net.layers = {{.name = "dense", .operation = Dense{3}}, {.name = "loss", .operation = SoftmaxLoss{}}};
  for (const std::int64_t batch : {1, 4}) {
    const TrainingGraph graph = build_training_graph(net, batch);
    TrainingMachine machine = catalog_machine();
    machine.gpu = device_with("gtx1080ti", Json::object());
    for (const NamedRuntime& runtime : all_runtimes(true))
      for (const std::int64_t steps : {1, 2, 50}) check_run(graph, machine, runtime, steps);
  }
}
