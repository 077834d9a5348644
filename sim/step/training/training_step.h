#pragma once
// Steps of a training graph on a machine under a runtime policy, as the timeline plays them. One step is one
// layer of a part that repeats; where the policy lets steps overlap, carried edges join updates to the
// readers of the next step, and nobody runs further ahead than that. Made once a job; pure.
//
// Units: host (what starts and awaits kernels in the memory), cpu, gpu and copy (batches on their way to it),
// and those of the memory (pairs, arm). Resources: the memories of the three, and the host's link. With a
// memory that computes all tensors lie in it, and the CPU reaches them over the link.
#include <map>
#include <string>
#include <vector>

#include "models/nn/training_graph.h"
#include "policies/runtime/runtime.h"
#include "sim/step/timeline/timeline.h"
#include "sim/step/training/training_machine.h"

namespace weir {

// All phases of an operator in one of its places.
struct PlacedOperator {
  PlaceOption option;  // with its time alone, without the host's
  Joules energy;       // above idle
};

struct TrainingPlan {  // of steps that the timeline plays
  StepGraph graph;
  std::vector<int> chooser;                       // by vertex: the operator that has its alternatives
  std::vector<int> vertex_of;                     // by operator of the graph; -1: it is none's
  std::vector<std::vector<PlacedOperator>> ways;  // by vertex, as its alternatives
  int end = 0;                                    // operator that ends a step
  int host = -1, cpu = -1, gpu = -1, copy = -1, pairs = -1, arm = -1;  // units
  std::vector<int> cpu_draws_from;                                     // resources
  Joules feeding;                                                      // a step's batch
};

struct TrainingRun {
  std::vector<Seconds> ends;                         // of each step, the profiled one first
  std::map<std::string, std::vector<Seconds>> busy;  // by unit and member; a pool: amount-seconds held
  std::map<std::string, Bytes> moved;                // by resource
  std::map<OperatorPlace, std::int64_t> operators;   // of all steps
  Joules energy;                                     // above idle, of all steps
};

class TrainingStep {
 public:
  // `steps` >= 1, the profiled one among them. Throws std::invalid_argument where the machine lacks what the
  // policy needs, or cannot run an operator, or where there are no steps.
  TrainingStep(const TrainingGraph& training, const TrainingMachine& machine,
               std::shared_ptr<const RuntimePolicy> policy, std::int64_t steps);

  const StepProfile& profile() const { return profile_; }                      // empty where none is taken
  const std::vector<OperatorType>& candidates() const { return candidates_; }  // of the profile
  const TrainingPlan& plan() const { return plan_; }

  TrainingRun play(bool fold = true) const;
  std::vector<OperatorRecord> trace() const;  // of the steps that are not profiled

 private:
  std::int64_t placed_steps() const;  // all but the profiled one
  TrainingRun begun() const;
  PlacementPolicy placement() const;

  std::shared_ptr<const RuntimePolicy> policy_;
  std::int64_t steps_;
  StepProfile profile_;
  Seconds profiling_;  // the profiled step's time
  Joules profiling_energy_;
  Bytes profiled_bytes_;
  std::int64_t profiled_operators_ = 0;
  std::vector<OperatorType> candidates_;
  TrainingPlan plan_;
};

// The plan of `layers` steps under the policy; `candidates` are types that it may offer to the memory.
TrainingPlan plan_training(const TrainingGraph& training, const TrainingMachine& machine,
                           const RuntimePolicy& policy, const std::vector<OperatorType>& candidates,
                           std::int64_t layers);

}  // namespace weir
