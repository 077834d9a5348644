#pragma once
// The backward pass, derived from what a tape holds. For build_training_graph alone.
#include <vector>

#include "models/nn/tape/tape.h"

namespace weir {

struct VariableGradient {
  int variable = 0;
  int values = 0;  // of its shape, or
  int ids = -1;    // of these rows of it (TensorFlow: IndexedSlices)
};

// Walks the tape's operators from the last to the first with TensorFlow's rule for each type, and appends the
// operators that it makes. A tensor that several read gets the sum (AddN). What no trainable variable has a
// part in gets none. In the order of the variables; throws std::invalid_argument where there is none.
std::vector<VariableGradient> append_backward(Tape& tape, const std::vector<int>& losses);

}  // namespace weir
