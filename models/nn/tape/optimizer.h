#pragma once
// The optimiser's updates, from the gradients of variables. For build_training_graph alone.
#include <vector>

#include "models/nn/tape/gradients.h"

namespace weir {

// One update a variable, in place; before them, where asked for, all gradients are scaled by their global
// norm (tf.clip_by_global_norm), for which the first update waits for the last gradient. Throws
// std::invalid_argument for rows of a table under an optimiser that is not gradient descent.
void append_updates(Tape& tape, const std::vector<VariableGradient>& gradients, Optimizer optimizer,
                    bool clip_by_norm);

}  // namespace weir
