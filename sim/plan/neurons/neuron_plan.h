#pragma once
// A scenario's plan for a replica that computes active neurons alone (NeuronUse): how many there are, which
// may be active, and what each costs where. Serving follows them token by token (sim/serving/neurons).
#include <memory>
#include <optional>
#include <vector>

#include "policies/partitioning/neurons/neuron_use.h"
#include "sim/step/rank.h"
#include "workloads/activity/activity.h"

namespace weir {

// Neurons over a link: so long whatever they are, and for each.
struct NeuronLink {
  Seconds fixed, each;
  // That go over it in this time, as a number of neurons.
  double within(Seconds time) const { return each > Seconds(0) && time > fixed ? (time - fixed) / each : 0; }
};

struct NeuronPlan {
  NeuronUse use;
  std::int64_t layers = 0;                         // of the stage
  NeuronCounts counts;                             // of the followed layers
  std::shared_ptr<const ActivitySource> activity;  // null: every neuron is active for every token
  bool neighbours_are_parents = false;             // of every neuron
  std::uint64_t seed = 0;
  NeuronMachine machine{};                           // with the room of the followed layers
  std::vector<std::size_t> members;                  // of SideLoads
  Operator projection;                               // beside which neurons move
  PerBlock<std::optional<NeuronLink>> swaps, moves;  // the latter of a pair of DIMMs

  std::int64_t followed(std::int64_t layer) const { return layer * counts.layers / layers; }
};

// `rank` is of a replica of one stage, `placed`, whose policy computes neurons; `activity` may be null.
// Throws UnfitKey or std::invalid_argument where the policy's keys do not fit the model, and ConfigError,
// with pointers relative to `activity`, where that is of another model.
std::shared_ptr<const NeuronPlan> plan_neurons(const Architecture& model, const Rank& rank,
                                               const StageGraph& placed, const NeuronActivity* activity,
                                               std::uint64_t seed);

// As placement policies see the neurons: how often each is active.
class NeuronProfile {
 public:
  explicit NeuronProfile(const NeuronPlan& plan);
  std::span<const NeuronLayer> layers() const { return layers_; }

 private:
  std::vector<float> always_;  // where nothing is said of activity
  std::vector<NeuronLayer> layers_;
};

}  // namespace weir
