// Hermes (HPCA 2025, arXiv 2502.16963), Section IV: all weights lie on NDP-DIMMs, hot neurons on the GPU as
// well. Tokens of decodes activate some neurons, each computed where it is; prompts, which activate nearly
// all, run on the GPU with all weights streamed over PCIe, and then the GPU's share is loaded again. Without
// activity of neurons it is Hermes-base.
#include <fmt/format.h>

#include <algorithm>

#include "policies/partitioning/fetched_layers.h"
#include "policies/partitioning/neurons/neuron_use.h"
#include "policies/partitioning/neurons/split_decodes.h"
#include "policies/partitioning/neurons/use_keys.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

class HotCold final : public PartitioningPolicy {
 public:
  HotCold(std::shared_ptr<const PartitioningPolicy> prompts, Bytes room, NeuronUse use)
      : prompts_(std::move(prompts)), room_(room), use_(std::move(use)) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    const SplitUnits split = split_units(units, "hot_cold");
    const LayerNeurons neurons = layer_neurons(stage, "hot_cold");
    const StageGraph::Weights weights = weights_of_neurons(stage, neurons, room_);
    auto decodes = std::make_shared<StageGraph>(stage);
    for (Part& part : decodes->parts)
      part.operators = split_decodes(part.operators, neurons, split, {use_.adjusts, use_.remaps});
    StageGraph placed = streamed(prompts_->place(std::move(stage), units), split.link, weights);
    decodes->weights = placed.weights = weights;
    placed.of_decodes = std::move(decodes);
    return placed;
  }

  HostMemoryUse host_memory() const override { return {.kv_caches = true, .weights = true}; }
  const NeuronUse* neurons() const override { return &use_; }

 private:
  // Every layer a layer ahead; once all have run, what was on the device before comes back.
  static StageGraph streamed(const StageGraph& placed, int link, const StageGraph::Weights& weights) {
    StageGraph stage;
    stage.layers = placed.layers;
    for (const Part& part : placed.parts) {
      const Bytes load = weights_of(part.operators);
      if (load > Bytes(0))
        append_fetched(stage, part, load, link, true);
      else
        stage.parts.push_back(part);
    }
    OperatorGraph share;
    boost::add_vertex(load_operator("load_hot", weights.on_device, link), share);
    stage.parts.push_back({"hot_share", std::move(share)});
    return stage;
  }

  std::shared_ptr<const PartitioningPolicy> prompts_;
  Bytes room_;
  NeuronUse use_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_gpu_pim_partitioning(Params& params);

std::shared_ptr<const PartitioningPolicy> make_hot_cold_partitioning(Params& params) {
  const Bytes room = read_neuron_room(params);
  NeuronUse use;
  use.placement = make_from(neuron_placement_policies(),
                            params.object({"neurons",
                                           "Which neurons are on the device before a run starts, and which "
                                           "DIMM is each one's home."}),
                            {"kind", "See `weir list policies`."});
  use.predictor = params.choice(
      {"predictor",
       "Expects active neurons of the MLP by a state of each (token), by the active ones of the layer before "
       "(layer), by both (Hermes, Section IV-C 1), or knows what will be true."},
      neuron_predictors(), "token_and_layer");
  use.adjusts = params.flag({"adjust",
                             "Hot neurons are swapped into the device beside the projection (Hermes, Section "
                             "IV-C 2); false: those stay that were there at the start."},
                            true);
  use.remaps = params.flag({"remap",
                            "Neurons move to less loaded DIMMs every five tokens (Hermes, Section IV-D); "
                            "false: each stays on its home."},
                           true);
  use.observed_only = params.flag({"observed_only",
                                   "States learn from the neurons that were computed alone; false: from all "
                                   "that were active, as the paper's accuracy needs."},
                                  false);
  use.followed_layers = read_followed_layers(params);
  // Prompts are attended to on the device, and their keys and values go to the host's memory.
  return std::make_shared<HotCold>(made_by_defaults(make_gpu_pim_partitioning), room, std::move(use));
}

}  // namespace weir
