#include "policies/placement/neurons/neuron_placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const NeuronPlacementPolicy> make_ilp_neurons(Params& params);
std::shared_ptr<const NeuronPlacementPolicy> make_greedy_neurons(Params& params);
std::shared_ptr<const NeuronPlacementPolicy> make_random_neurons(Params& params);
std::shared_ptr<const NeuronPlacementPolicy> make_whole_layers_neurons(Params& params);

const Catalog<NeuronPlacementPolicy>& neuron_placement_policies() {
  static const Catalog<NeuronPlacementPolicy> table = {
      {"ilp", "neurons where an integer program expects the least time of a token (Hermes)", make_ilp_neurons,
       by_default},
      {"greedy", "the hottest neurons on the GPU until it is full, the others dealt to the DIMMs",
       make_greedy_neurons},
      {"random", "any neurons on the GPU until it is full, and any DIMM as each one's home",
       make_random_neurons},
      {"whole_layers", "the first layers whole on the GPU, as a system without activity has it (Hermes-base)",
       make_whole_layers_neurons},
  };
  return table;
}

std::string why_not_placed(const NeuronMachine& machine, std::span<const NeuronLayer> layers) {
  if (machine.dimms < 1 || machine.dimms > 255)
    return fmt::format("neurons need 1 to 255 DIMMs (got {})", machine.dimms);
  Bytes all, largest;
  for (const NeuronBlock block : neuron_blocks) {
    const Bytes bytes = machine.costs[block].bytes;
    if (!(bytes > Bytes())) return "a neuron has bytes";
    largest = std::max(largest, bytes);
    for (const NeuronLayer& layer : layers) all += static_cast<double>(layer[block].size()) * bytes;
  }
  if (all / machine.dimms + largest <= machine.dimm_room) return "";
  return fmt::format("{} DIMMs with room for {:.4g} GB each do not hold all neurons, which are {:.4g} GB",
                     machine.dimms, machine.dimm_room.value() / 1e9, all.value() / 1e9);
}

}  // namespace weir
