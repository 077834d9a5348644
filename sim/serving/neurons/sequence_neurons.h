#pragma once
// The active neurons of one request, token by token: which are, which the predictor expects, and the states
// that it expects them by (Hermes, Section IV-C 1).
#include <span>
#include <vector>

#include "sim/plan/neurons/neuron_plan.h"
#include "sim/serving/record/results.h"

namespace weir {

class SequenceNeurons {
 public:
  // States begin with what a prompt of so many tokens activates, of which a share is looked at.
  SequenceNeurons(const NeuronPlan& plan, std::int32_t request, std::int64_t prompt_tokens);

  void next();  // to the next token
  // One layer and block after the other, in order: which neurons are read and which of these are active.
  struct Expected {
    std::span<const std::uint8_t> read, active;
  };
  Expected expect(std::int64_t layer, NeuronBlock block, PredictionCounts& counts);
  // Learns from what expect() said last.
  void learn(std::int64_t layer, NeuronBlock block);
  std::span<const std::uint8_t> states(std::int64_t layer, NeuronBlock block) const {
    return states_[static_cast<std::size_t>(layer)][block];
  }

 private:
  std::span<const NeuronParents> parents(std::int64_t layer) const;

  const NeuronPlan* plan_;
  std::unique_ptr<TokenActivity> activity_;
  std::vector<PerBlock<std::vector<std::uint8_t>>> states_;
  std::vector<std::uint8_t> predicted_, found_;  // scratch of the MLP
  std::vector<std::uint8_t> found_before_;       // what was computed of the layer before
};

}  // namespace weir
