// Hermes' Figure 13 calls this random: any neurons on the GPU until it is full, any DIMM with room as each
// one's home.
#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <stdexcept>

#include "policies/placement/neurons/neuron_placement.h"
#include "sim/core/rng.h"

namespace weir {
namespace {

struct NeuronName {
  std::uint32_t layer, neuron;
  NeuronBlock block;
};

std::vector<NeuronName> shuffled(std::span<const NeuronLayer> layers, Rng& rng) {
  std::vector<NeuronName> all;
  for (std::uint32_t l = 0; l < layers.size(); ++l)
    for (const NeuronBlock block : neuron_blocks)
      for (std::uint32_t i = 0; i < layers[l][block].size(); ++i) all.push_back({l, i, block});
  for (std::size_t i = all.size(); i > 1; --i)  // std::shuffle is not the same everywhere
    std::swap(all[i - 1], all[boost::random::uniform_int_distribution<std::size_t>(0, i - 1)(rng)]);
  return all;
}

class RandomNeurons final : public NeuronPlacementPolicy {
 public:
  NeuronMapping place(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::uint64_t seed) const override {
    if (const std::string why = why_not_placed(machine, layers); !why.empty())
      throw std::invalid_argument(why);
    NeuronMapping mapping{std::vector<LayerSites>(layers.size())};
    fill_gpu(machine, layers, seed, mapping.layers);
    draw_homes(machine, seed, mapping.layers);
    return mapping;
  }

 private:
  static void fill_gpu(const NeuronMachine& machine, std::span<const NeuronLayer> layers, std::uint64_t seed,
                       std::vector<LayerSites>& sites) {
    for (std::size_t l = 0; l < layers.size(); ++l)
      for (const NeuronBlock block : neuron_blocks) sites[l][block].on_gpu.assign(layers[l][block].size(), 0);
    Bytes room = machine.gpu_room;
    Rng rng = random_stream(seed, "neurons on the GPU");
    for (const NeuronName& one : shuffled(layers, rng)) {
      const Bytes bytes = machine.costs[one.block].bytes;
      if (bytes > room) continue;
      room -= bytes;
      sites[one.layer][one.block].on_gpu[one.neuron] = 1;
    }
  }

  static void draw_homes(const NeuronMachine& machine, std::uint64_t seed, std::vector<LayerSites>& sites) {
    Rng rng = random_stream(seed, "home DIMMs of neurons");
    const boost::random::uniform_int_distribution<int> any(0, machine.dimms - 1);
    std::vector<Bytes> room(static_cast<std::size_t>(machine.dimms), machine.dimm_room);
    for (LayerSites& layer : sites)
      for (const NeuronBlock block : neuron_blocks) {
        NeuronSites& of_block = layer[block];
        for (std::size_t i = 0; i < of_block.on_gpu.size(); ++i) {
          auto dimm = static_cast<std::uint8_t>(any(rng));
          while (machine.costs[block].bytes > room[dimm]) dimm = static_cast<std::uint8_t>(any(rng));
          room[dimm] -= machine.costs[block].bytes;
          of_block.dimm.push_back(dimm);
        }
      }
  }
};

}  // namespace

std::shared_ptr<const NeuronPlacementPolicy> make_random_neurons(Params&) {
  return std::make_shared<RandomNeurons>();
}

}  // namespace weir
