#pragma once
// A partitioning policy that computes active neurons alone asks this of the engine, which follows them token
// by token (sim/serving/neurons): where each one is to be, how the active ones are predicted, and what
// changes while tokens are generated. Both have the same words for an operator's part in it.
#include <cstdint>
#include <memory>
#include <optional>

#include "policies/placement/neurons/neuron_placement.h"
#include "policies/placement/neurons/online/predictor.h"

namespace weir {

// An operator does one of these for a layer's neurons: computes them on the device, or in its host's memory
// by the members of a unit there; brings them into the device over its link; moves them between pairs of
// those members.
enum class NeuronTask { on_device, in_host, swapped, moved };

// Operator::neurons and SideLoads number tasks and blocks so.
inline constexpr int neuron_loads = 8;
constexpr int neuron_load(NeuronTask task, NeuronBlock block) {
  return 2 * static_cast<int>(task) + static_cast<int>(block);
}

struct NeuronUse {
  std::shared_ptr<const NeuronPlacementPolicy> placement;  // null: all of them are computed on the device
  NeuronPredictor predictor = NeuronPredictor::token_and_layer;  // of the MLP; QKV's inputs are known
  bool adjusts = false, remaps = false;
  bool observed_only = false;                   // states learn from what was computed, not from the truth
  std::optional<std::int64_t> followed_layers;  // each stands for its neighbours; none: all of them
};

}  // namespace weir
