// Laws of a net that is trained beside another one: it takes what that one leaves, and all of its steps.
#include <catch2/catch.hpp>
#include <numeric>

#include "models/nn/net_catalog.h"
#include "test/policies/runtime/random_snapshot.h"
#include "test/step/training/random_training.h"

namespace weir::test {
namespace {

std::shared_ptr<const RuntimePolicy> runtime(const char* name) {
  return make_runtime({{"kind", name}});
}

std::int64_t operators_of(const TrainingRun& run) {
  return std::accumulate(run.operators.begin(), run.operators.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& place) { return sum + place.second; });
}

std::int64_t vertices_of(const TrainingGraph& graph) {
  return static_cast<std::int64_t>(boost::num_vertices(graph.operators));
}

}  // namespace

TEST_CASE("training beside: both nets run all operators of all of their steps, folded or not", "[training]") {
  const TrainingGraph other = build_training_graph(catalog_net("word2vec"));
  const auto spare = runtime("spare_cores");
  int shared = 0;
  for_random_trainings(31, 40, [&](const TrainingCase& it) {
    if (!it.random.machine.memory || it.random.processors.arm_cores == 0 || it.runtime.name == "gpu_only")
      return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step(it.graph, it.random.machine, it.runtime.policy, 4, TrainedNet{&other, spare, 9});
    const TrainingRun folded = step.play(), run = step.play(false);
    CHECK(operators_of(run) == 4 * vertices_of(it.graph) + 9 * vertices_of(other));
    REQUIRE(run.ends.size() == 4);
    REQUIRE(run.beside_ends.size() == 9);
    REQUIRE(folded.beside_ends.size() == 9);
    CHECK(folded.ends.back().value() == Approx(run.ends.back().value()).epsilon(1e-10));
    CHECK(folded.beside_ends.back().value() == Approx(run.beside_ends.back().value()).epsilon(1e-10));
    CHECK(folded.energy.value() == Approx(run.energy.value()).epsilon(1e-10));
    CHECK(run.energy.value() >= it.run(4).play().energy.value() * 0.2);
    ++shared;
  });
  CHECK(shared > 100);
}

TEST_CASE("training beside: a net never starts on a core that the other one waits for", "[training]") {
  const TrainingGraph other = build_training_graph(catalog_net("word2vec"));
  const auto spare = runtime("spare_cores");
  int waited = 0;
  for_random_trainings(32, 20, [&](const TrainingCase& it) {
    if (!it.random.machine.memory || it.random.processors.arm_cores == 0 || it.runtime.name == "gpu_only")
      return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step(it.graph, it.random.machine, it.runtime.policy, 3, TrainedNet{&other, spare, 5});
    const TrainingPlan& plan = step.plan();
    const auto part_of = [&](const OperatorRecord& record) {
      return plan.graph.operators[static_cast<std::size_t>(record.op)].part;
    };
    const std::vector<OperatorRecord> records = step.trace();
    for (const OperatorRecord& late : records) {
      if (part_of(late) == 0 || !(late.start < late.finish)) continue;
      for (const OperatorRecord& first : records) {
        if (part_of(first) == 1 || way_of(plan, first).unit != way_of(plan, late).unit) continue;
        const bool waits = first.ready.value() < late.start.value() * (1 - 1e-9) &&
                           first.start.value() > late.start.value() * (1 + 1e-9);
        CHECK_FALSE(waits);
        waited += first.ready < first.start;
      }
    }
  });
  CHECK(waited > 100);
}

TEST_CASE("training beside: nets with nothing in common take the time that each takes alone", "[training]") {
  TrainingMachine machine;
  machine.cpu = device_with("xeon_e5_2630v3", Json::object());
  machine.gpu = device_with("gtx1080ti", Json::object());
  const TrainingGraph first = build_training_graph(catalog_net("alexnet")),
                      other = build_training_graph(catalog_net("dcgan"));
  const TrainingRun alone = TrainingStep(first, machine, runtime("gpu_only"), 7).play();
  const TrainingRun other_alone = TrainingStep(other, machine, runtime("cpu_only"), 3).play();
  const TrainingRun both =
      TrainingStep(first, machine, runtime("gpu_only"), 7, TrainedNet{&other, runtime("cpu_only"), 3}).play();
  REQUIRE(both.ends.size() == alone.ends.size());
  for (std::size_t i = 0; i < alone.ends.size(); ++i)
    CHECK(both.ends[i].value() == Approx(alone.ends[i].value()).epsilon(1e-12));
  REQUIRE(both.beside_ends.size() == other_alone.ends.size());
  for (std::size_t i = 0; i < other_alone.ends.size(); ++i)
    CHECK(both.beside_ends[i].value() == Approx(other_alone.ends[i].value()).epsilon(1e-12));
  CHECK(both.energy.value() == Approx((alone.energy + other_alone.energy).value()).epsilon(1e-12));
}

TEST_CASE("training beside: a net that is profiled, or has no steps, or needs what is not there is refused") {
  const TrainingGraph net = build_training_graph(catalog_net("alexnet"));
  TrainingMachine cpu;
  cpu.cpu = device_with("xeon_e5_2630v3", Json::object());
  const auto refused = [&](const TrainingMachine& machine, const char* name, std::int64_t steps) {
    try {
      TrainingStep(net, machine, runtime("cpu_only"), 2, TrainedNet{&net, runtime(name), steps});
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string();
  };
  CHECK(refused(cpu, "cpu_only", 1).empty());
  CHECK_THAT(refused(cpu, "cpu_only", 0), Catch::Contains("at least one step"));
  CHECK_THAT(refused(cpu, "spare_cores", 1), Catch::Contains("programmable cores"));
  CHECK_THAT(refused(catalog_machine(), "hetero_pim", 1), Catch::Contains("is not profiled"));
}

}  // namespace weir::test
