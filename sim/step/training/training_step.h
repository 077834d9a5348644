#pragma once
// Steps of a training graph on a machine under a runtime policy, as the timeline plays them. One step is one
// layer of a part that repeats; where the policy lets steps overlap, carried edges join updates to the
// readers of the next step, and nobody runs further ahead than that. Another net may be trained beside it, a
// part of its own that yields. Made once a job; pure.
//
// Units: host (what starts and awaits kernels in the memory), cpu, gpu and copy (batches on their way to it),
// network (gradients on theirs), and those of the memory (pairs, arm). Resources: the memories of the three,
// and the host's link. With a memory that computes all tensors lie in it, and the CPU reaches them over the
// link.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/nn/training_graph.h"
#include "policies/runtime/runtime.h"
#include "sim/step/timeline/timeline.h"
#include "sim/step/training/training_machine.h"

namespace weir {

// All phases of an operator in one of its places.
struct PlacedOperator {
  PlaceOption option;
  Joules energy;      // above idle
  double moving = 0;  // of the CPU: the share of its time that it waits for bytes
};

struct TrainedNet {
  const TrainingGraph* graph = nullptr;
  std::shared_ptr<const RuntimePolicy> policy = {};
  std::int64_t steps = 1;
  std::vector<OperatorType> candidates = {};  // types that the policy may offer to the memory
};

// Vertices are those of the first net, then those of the one beside it.
struct TrainingPlan {  // of steps that the timeline plays
  StepGraph graph;
  std::vector<int> chooser;                       // by vertex: the operator that has its alternatives
  std::vector<int> vertex_of;                     // by operator of the graph; -1: it is none's
  std::vector<std::vector<PlacedOperator>> ways;  // by vertex, as its alternatives
  std::vector<int> ends;                          // by net: the operator that ends a step
  std::vector<std::size_t> vertices;              // by net: its own and those of the ones before
  int host = -1, cpu = -1, gpu = -1, copy = -1, pairs = -1, arm = -1, network = -1;  // units
  std::vector<int> cpu_draws_from;                                                   // resources
  std::vector<Joules>
      feeding;  // by net: of a step's batch on its way to a GPU, and of its gradients to others
  std::vector<Bytes> reduced;  // by net: a step's, sent by each of the copies
};

struct TrainingRun {
  std::vector<Seconds> ends;                         // of each step, the profiled one first
  std::vector<Seconds> beside_ends;                  // the same of the net beside, which is not profiled
  std::map<std::string, std::vector<Seconds>> busy;  // by unit and member; a pool: amount-seconds held
  std::map<std::string, Bytes> moved;                // by resource
  std::map<OperatorPlace, std::int64_t> operators;   // of all steps
  Joules energy;                                     // above idle, of all steps
};

class TrainingStep {
 public:
  // `steps` >= 1, the profiled one among them; `beside` has no candidates, and starts once the profile is
  // there. Throws std::invalid_argument where the machine lacks what a policy needs, or cannot run an
  // operator, where there are no steps, or where the policy of the net beside profiles.
  TrainingStep(const TrainingGraph& training, const TrainingMachine& machine,
               std::shared_ptr<const RuntimePolicy> policy, std::int64_t steps,
               std::optional<TrainedNet> beside = {});

  const StepProfile& profile() const { return profile_; }  // empty where none is taken
  const std::vector<OperatorType>& candidates() const { return nets_[0].candidates; }  // of the profile
  const TrainingPlan& plan() const { return plan_; }

  TrainingRun play(bool fold = true) const;
  std::vector<OperatorRecord> trace() const;  // of the steps that are not profiled

 private:
  TrainingRun begun() const;
  PlacementPolicy placement() const;

  bool profiles() const { return nets_[0].policy->profiles(); }
  void take_profile(const TrainingMachine& machine);
  std::size_t net_of(std::size_t vertex) const;

  std::vector<TrainedNet> nets_;  // of the first the steps are those that are placed
  StepProfile profile_;
  Seconds profiling_;  // the profiled step's time
  Joules profiling_energy_;
  Bytes profiled_bytes_;
  std::int64_t profiled_operators_ = 0;
  Watts host_waiting_;  // nothing where the policy has nothing computed in memory
  TrainingPlan plan_;
};

// The first of the nets goes before the others.
TrainingPlan plan_training(const TrainingMachine& machine, std::span<const TrainedNet> nets);

}  // namespace weir
