#pragma once
// The operators of a training step as machines price them (models/machine).
#include <cstddef>

#include "models/nn/training_graph.h"

namespace weir {

// Only the gradients of convolutions gather or scatter a matrix of patches around their products: Liu et al.
// (MICRO 2018, section II-A, Figure 6) count the forward one among what is multiplications and additions
// throughout, its gradients among what has other phases around them.
TensorOperation operation_of(const TrainingGraph& graph, std::size_t vertex);

}  // namespace weir
