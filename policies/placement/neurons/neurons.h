#pragma once
// The words of neuron placement (Hermes, Section IV). All weights lie on the DIMMs, each neuron's on its
// home; a neuron whose weights also lie in the GPU's memory is computed there, any other on its home. The
// engine owns these tables and hands out views; policies keep none.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/neurons/neuron_block.h"
#include "sim/core/units.h"

namespace weir {

// The share of tokens for which each neuron is active, 0 to 1, profiled offline.
using NeuronLayer = PerBlock<std::span<const float>>;

// Where the neurons of one block of one layer are, as many entries each as it has neurons.
struct NeuronSites {
  std::vector<std::uint8_t> on_gpu;  // 1 or 0
  std::vector<std::uint8_t> dimm;    // the home, from 0 on, of those on the GPU too
};
using LayerSites = PerBlock<NeuronSites>;

// One active neuron of a block costs this.
struct NeuronCost {
  Bytes bytes;                    // M_i of Table I
  Seconds gpu_time, dimm_time;    // T_l of Table I: on the GPU, on its one DIMM
  Seconds gpu_fixed = Seconds();  // beside the synchronisations, where the GPU has any neuron of the block
};

struct NeuronMachine {
  int dimms;        // 1 to 255
  Bytes gpu_room;   // S_GPU of Equation 6: for neurons, after all else that lies there
  Bytes dimm_room;  // S_dimm of Equation 7, of each
  PerBlock<NeuronCost> costs;
  Seconds sync;  // T_sync of Equation 3: one way between GPU and DIMMs
};

}  // namespace weir
