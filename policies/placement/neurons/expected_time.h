#pragma once
// The objective of Equations 1 to 5 (Hermes, Section IV-B) for a given mapping: what placement policies
// minimise, what tests compare them by and what the engine reports of one. QKV and MLP of a layer join apart,
// so a layer is two maxima (the paper has one). An expectation's maximum: a token, whose neurons are active
// or not, takes longer on average. Pure.
#include <span>

#include "policies/placement/neurons/neurons.h"

namespace weir {

struct BlockTime {
  Seconds gpu;       // Equation 3; 0 where the GPU has none of the block
  Seconds dimm;      // Equation 2, of the slowest
  double imbalance;  // the slowest DIMM over the mean of all; 1 where they have nothing to do
  Seconds total() const { return gpu < dimm ? dimm : gpu; }
};

// Frequencies and sites of one block are alike long, every home below machine.dimms.
BlockTime expected_time(const NeuronMachine& machine, NeuronBlock block, std::span<const float> frequencies,
                        const NeuronSites& sites);
// Equation 1: of a token's neurons in all layers.
Seconds expected_time(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::span<const LayerSites> sites);

}  // namespace weir
