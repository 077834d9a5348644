// With enough of everything a training run takes its longest path, and with one unit the sum of its
// operators.
#include <catch2/catch.hpp>

#include "models/nn/operations.h"
#include "test/step/training/random_training.h"
#include "test/step/training/training_path.h"

using namespace weir;
using namespace weir::test;

namespace {

// All operators on the pairs, which take as many at once as the graph allows.
class AllOnPairs final : public RuntimePolicy {
 public:
  RuntimeUnits needs() const override { return {.fixed_function = true}; }
  bool recursive_kernels() const override { return true; }
  bool operation_pipeline() const override { return true; }
  std::vector<OperatorPlace> places(const TensorOperation&, bool) const override {
    return {OperatorPlace::fixed_function};
  }
};

// A billion pairs over a bandwidth that nobody can use up.
TrainingMachine machine_of_plenty() {
  const StackProcessors pairs{.pairs = {1000000000}, .pairs_per_second = 1e3, .arm_power = Watts(0)};
  DeviceSpec spec = stack_with(pairs)->spec();
  spec.units.clear();
  spec.own().bandwidth = BytesPerSecond(1e30);
  spec.own().sustained.reset();
  TrainingMachine made;
  made.cpu = device_with("xeon_e5_2630v3", Json::object());
  made.memory = make_hetero_pim(std::move(spec), pairs, StackStreams(find_memory("hmc2_vault"), 2000000000));
  made.synchronisation = Seconds(0);
  return made;
}

}  // namespace

TEST_CASE("training: with pairs in plenty every step ends with its longest path", "[training]") {
  std::mt19937 random(8);
  const TrainingMachine machine = machine_of_plenty();
  int overlapping = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const TrainingGraph graph = random_training(random);
    const TrainingStep step(graph, machine, std::make_shared<AllOnPairs>(), 6);
    const std::vector<OperatorRecord> trace = step.trace();
    const std::vector<Seconds> expected = ends_on_longest_paths(step.plan(), trace);
    const std::vector<Seconds> ends = step.play().ends;
    REQUIRE(ends.size() == 6);
    REQUIRE(expected.front() > Seconds(0));
    for (std::size_t i = 0; i < ends.size(); ++i)
      CHECK(ends[i].value() == Approx(expected[i].value()).epsilon(1e-9));
    Seconds sum;
    for (const OperatorRecord& record : trace)
      sum += record.layer == 0 ? alone(step.plan(), record) : Seconds(0);
    CHECK(ends.front() <= sum);
    overlapping += ends.front() < 0.9 * sum;
  }
  CHECK(overlapping > 100);
}

TEST_CASE("training: one operator after the other takes the sum of what each takes on its device",
          "[training]") {
  const std::int64_t steps = 3;
  int compared = 0;
  for_random_trainings(9, 60, [&](const TrainingCase& it) {
    const TrainingMachine& machine = it.random.machine;
    const bool cpu = it.runtime.name == "cpu_only", gpu = it.runtime.name == "gpu_only";
    if (!cpu && !gpu && it.runtime.name != "progr_pim") return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const Device& device = cpu ? *machine.cpu : gpu ? *machine.gpu : *machine.memory;
    Seconds sum;
    for (std::size_t v = 0; v < boost::num_vertices(it.graph.operators); ++v) {
      const TensorOperation operation = operation_of(it.graph, v);
      if (operation.work.total() == 0 && operation.read + operation.written == Bytes(0)) continue;
      const Kernel kernel = operation;
      const KernelCost cost = device.cost(
          {.name = to_string(it.graph.operators[v].type), .kernel = kernel, .rows = 1}, !cpu && !gpu);
      sum += cpu ? std::max(cost.time, cost.moved[own_memory] / machine.memory->spec().host_bandwidth)
                 : cost.time;
      if (!cpu && !gpu) sum += machine.synchronisation;
    }
    if (gpu)
      for (const Tensor& tensor : it.graph.tensors)
        if (tensor.kind == TensorKind::fed) sum += tensor.bytes() / machine.gpu->spec().host_bandwidth;
    const TrainingRun run = TrainingStep(it.graph, machine, it.runtime.policy, steps).play();
    REQUIRE(run.ends.size() == steps);
    for (std::size_t i = 0; i < run.ends.size(); ++i)
      CHECK(run.ends[i].value() == Approx(static_cast<double>(i + 1) * sum.value()).epsilon(1e-9));
    ++compared;
  });
  CHECK(compared > 140);
}

TEST_CASE("training: a split operator without recursive kernels or the pipeline takes its two phases",
          "[training]") {
  int splits = 0;
  for_random_trainings(10, 40, [&](const TrainingCase& it) {
    if (it.runtime.policy->operation_pipeline() || it.runtime.policy->recursive_kernels()) return;
    if (it.runtime.policy->needs().gpu) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(3);
    Seconds sum;
    for (const OperatorRecord& record : step.trace()) sum += alone(step.plan(), record);
    for (const auto& ways : step.plan().ways)
      splits += std::ranges::any_of(
          ways, [](const PlacedOperator& way) { return way.option.place == OperatorPlace::split; });
    CHECK(step.trace().back().finish.value() == Approx(sum.value()).epsilon(1e-9));
  });
  CHECK(splits > 100);
}
