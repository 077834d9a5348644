#pragma once
// Offline neuron mapping (Hermes, Section IV-B): which neurons are placed on the GPU and which DIMM is each
// one's home, before a run starts; adjustment.h and remapping.h change it while tokens are generated. Called
// once a model and machine. Pure: the same mapping for the same arguments, to the byte; a policy has no
// clock, so whoever wants the seconds it takes (performance.json) measures the call.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/placement/neurons/neurons.h"
#include "sim/core/catalog.h"

namespace weir {

struct NeuronMapping {
  std::vector<LayerSites> layers;
  double gap = 0;  // of a solver: how far its time may be above the least, relative; 0 where none solves
  std::int64_t nodes = 0;  // that a solver branched to
};

class NeuronPlacementPolicy {
 public:
  virtual ~NeuronPlacementPolicy() = default;
  // Neither room is exceeded. The seed is for those that draw. Throws std::invalid_argument where
  // why_not_placed() has something to say.
  virtual NeuronMapping place(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                              std::uint64_t seed) const = 0;
};

const Catalog<NeuronPlacementPolicy>& neuron_placement_policies();

// Why no policy can place these neurons, for the reader of the scenario to tell at its own pointer; "" if
// they can. The DIMMs must hold all neurons, those on the GPU too; one more neuron of room each lets every
// order of dealing them out end.
std::string why_not_placed(const NeuronMachine& machine, std::span<const NeuronLayer> layers);

}  // namespace weir
