#pragma once
// The laws of training steps run over these: random nets on random machines, under every runtime policy.
#include <random>
#include <string>
#include <vector>

#include "devices/hetero_pim/hetero_pim.h"
#include "sim/step/training/training_step.h"

namespace weir::test {

std::shared_ptr<const Device> device_with(const std::string& kind, const Json& overrides,
                                          const std::string& assumptions = "paper");
FlopsPerSecond peak_of_pairs(const StackProcessors& processors);
FlopsPerSecond peak_of_cores(const StackProcessors& processors);  // of multiplications and additions

// The stack of the catalog, whose DRAM takes long to play, with other processors on its logic die; of none it
// has no unit.
std::shared_ptr<const Device> stack_with(const StackProcessors& processors,
                                         BytesPerSecond host_link = BytesPerSecond(59.7e9));

// The catalog's CPU and stack, at so many lanes a pair and times the clocks.
TrainingMachine catalog_machine(int lanes = 1, double clock_multiple = 1);

struct RandomMachine {
  TrainingMachine machine;
  StackProcessors processors;
  std::string described;  // in messages

  // At so many times its clocks.
  StackProcessors at_clock(double times) const;
};
RandomMachine random_machine(std::mt19937& random);

struct NamedRuntime {
  std::string name;
  std::shared_ptr<const RuntimePolicy> policy;
};
NamedRuntime hetero_runtime(bool recursive_kernels, bool operation_pipeline, const std::string& when_busy);
// hetero_pim with each value of each key, then all others; gpu_only among them if there is a GPU.
std::vector<NamedRuntime> all_runtimes(bool with_gpu);

TrainingGraph random_training(std::mt19937& random);

// One random case of a law.
struct TrainingCase {
  int round = 0;
  const TrainingGraph& graph;
  const RandomMachine& random;
  const NamedRuntime& runtime;

  TrainingStep run(std::int64_t steps) const { return {graph, random.machine, runtime.policy, steps}; }
};

// Calls `law(case)` for so many nets and machines, each under all runtimes; returns how many that were.
template <class Law>
int for_random_trainings(unsigned seed, int rounds, const Law& law) {
  std::mt19937 random(seed);
  int cases = 0;
  for (int round = 0; round < rounds; ++round) {
    const TrainingGraph graph = random_training(random);
    const RandomMachine machine = random_machine(random);
    for (const NamedRuntime& runtime : all_runtimes(machine.machine.gpu != nullptr)) {
      law(TrainingCase{round, graph, machine, runtime});
      ++cases;
    }
  }
  return cases;
}

// The alternative that an operator's record ran as.
const StepGraph::Alternative& way_of(const TrainingPlan& plan, const OperatorRecord& record);
// With nothing in its way.
Seconds alone(const TrainingPlan& plan, const OperatorRecord& record);

}  // namespace weir::test
