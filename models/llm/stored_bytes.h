#pragma once
// What an operator reads that is in memory before the operators that lead to it have run: what a device may
// fetch ahead.
#include "models/machine/batch_shape.h"
#include "models/llm/operator_graph.h"

namespace weir {

// Weights of matrices, of all experts of a rank whichever will be chosen; of attention K and V of the tokens
// in the cache. 0 of others.
Bytes stored_bytes(const Operator& op, const BatchShape& batch);

}  // namespace weir
