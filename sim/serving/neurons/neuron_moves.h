#pragma once
// Neurons on their way between DIMMs (Hermes, Section IV-D): after a window of tokens those are chosen that
// even out what the DIMMs have to do, and go in the projections of the next window, each pair's over its own
// link. The tables of one replica own it.
#include <vector>

#include "models/machine/side_loads.h"
#include "policies/placement/neurons/online/remapping.h"
#include "sim/plan/neurons/neuron_plan.h"

namespace weir {

class NeuronMoves {
 public:
  NeuronMoves(const NeuronPlan& plan, std::span<const LayerSites> start);

  // The neurons of a layer and block that a step computes: so many uses of each.
  void computed(std::int64_t layer, NeuronBlock block, std::span<const std::uint16_t> uses);
  // While the layer's projection runs, so long: what was chosen goes as far as links take it. Fills in what
  // each link carries; returns neurons.
  double go_on(std::int64_t layer, NeuronBlock block, Seconds projection, NeuronSites& sites,
               std::span<SideLoad> links);
  // At a token's end; at a window's end the next ones are chosen.
  void end_token(std::span<const LayerSites> sites, Seconds projection);

  std::span<const Bytes> free() const { return free_; }

 private:
  struct Block {
    std::vector<std::uint16_t> activations;  // within the window
    std::vector<NeuronMove> chosen;          // a pair's behind each other
  };
  void choose(Block& block, const NeuronSites& sites, NeuronBlock which, Seconds projection);
  Bytes bytes(NeuronBlock block) const { return plan_->machine.costs[block].bytes; }

  const NeuronPlan* plan_;
  std::vector<PerBlock<Block>> blocks_;
  std::vector<Bytes> free_;  // of each DIMM, what is on its way there taken off
  int tokens_ = 0;           // of the window
};

}  // namespace weir
