#pragma once
// The operators of a step of decodes, split between a device and the cores on its host's DIMMs (Hermes,
// Section IV-A). Used by hot_cold alone.
#include <span>

#include "models/machine/machine.h"
#include "policies/partitioning/neurons/neuron_kernels.h"

namespace weir {

struct SplitUnits {
  int device;      // GEMMs, and neurons whose weights are there
  int dimms;       // neurons and attention, a member a DIMM
  int activation;  // what lies between them, on the DIMMs
  int link;        // member 0 to the host, 1 back
  int dimm_links;  // -1: there are none
};
// Throws std::invalid_argument, in the name of the policy, where one is missing.
SplitUnits split_units(std::span<const Unit> units, const char* policy);

struct OnlineMoves {
  bool swaps, remaps;  // beside the projection
};

// QKV and the MLP on both sides, each its active neurons, with a merge on the DIMMs; attention on the DIMMs;
// all other matrices on the device. Results cross the link where the other side needs them.
OperatorGraph split_decodes(const OperatorGraph& part, const LayerNeurons& neurons, const SplitUnits& units,
                            OnlineMoves moves);

}  // namespace weir
