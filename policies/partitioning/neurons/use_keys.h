#pragma once
// Keys that all policies with neurons have, and the weights that follow from them.
#include "policies/partitioning/neurons/neuron_kernels.h"
#include "policies/partitioning/partitioning.h"

namespace weir {

Bytes read_neuron_room(Params& params);                            // "on_device_gb"
std::optional<std::int64_t> read_followed_layers(Params& params);  // "followed_layers"

// All weights lie in the host's memory. The device has room for so many, which are those of no neuron (but
// for embeddings, whose rows are looked up in the host's) and then neurons. Throws UnfitKey where the others
// alone do not fit.
StageGraph::Weights weights_of_neurons(const StageGraph& stage, const LayerNeurons& neurons, Bytes room);

}  // namespace weir
