#pragma once
// The greedy mapping, which is a policy of its own (greedy.cpp) and the one that the integer program must
// not fall behind (ilp.cpp). Pure.
#include <span>
#include <vector>

#include "policies/placement/neurons/neurons.h"

namespace weir {

// Onto the GPU until it is full, whichever neuron saves the DIMMs most time by byte: the most often active,
// where a DIMM's time goes by bytes. Frequency by byte, without the time, would place all of LLaMA2-70B's
// attention neurons (20 KB) before MLP neurons (48 KB) twice as hot, which cost a DIMM more. Homes are
// dealt by frequency.
std::vector<LayerSites> greedy_mapping(const NeuronMachine& machine, std::span<const NeuronLayer> layers);

}  // namespace weir
