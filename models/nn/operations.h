#pragma once
// The operators of a training step as machines price them (models/machine).
#include <cstddef>

#include "models/nn/training_graph.h"

namespace weir {

// Of convolutions only the gradients make a matrix of patches before their products: the forward one slides
// its window, as Liu et al. (MICRO 2018, section II) describe it.
TensorOperation operation_of(const TrainingGraph& graph, std::size_t vertex);

}  // namespace weir
