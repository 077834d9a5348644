// Whole layers on the GPU, the first ones, while there is room for both of a layer's blocks: what is left to
// a system that does not know which neurons are active (Hermes-base, Hermes, Section V-A).
#include <stdexcept>

#include "policies/placement/neurons/frequency_buckets.h"
#include "policies/placement/neurons/home_dimms.h"
#include "policies/placement/neurons/neuron_placement.h"

namespace weir {
namespace {

class WholeLayers final : public NeuronPlacementPolicy {
 public:
  NeuronMapping place(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::uint64_t /*seed*/) const override {
    if (const std::string why = why_not_placed(machine, layers); !why.empty())
      throw std::invalid_argument(why);
    NeuronMapping mapping;
    mapping.layers.resize(layers.size());
    Bytes room = machine.gpu_room;
    HomeDimms homes(machine.dimms);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Bytes layer{};
      for (const NeuronBlock block : neuron_blocks)
        layer += static_cast<double>(layers[l][block].size()) * machine.costs[block].bytes;
      const bool fits = layer <= room;
      room = fits ? room - layer : Bytes(0);  // the layers behind stay on the DIMMs as well
      for (const NeuronBlock block : neuron_blocks) {
        NeuronSites& sites = mapping.layers[l][block];
        sites.on_gpu.assign(layers[l][block].size(), fits);
        homes.deal(machine.costs[block].bytes, hottest_first(layers[l][block]), sites);
      }
    }
    return mapping;
  }
};

}  // namespace

std::shared_ptr<const NeuronPlacementPolicy> make_whole_layers_neurons(Params&) {
  return std::make_shared<WholeLayers>();
}

}  // namespace weir
