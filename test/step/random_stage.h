#pragma once
// Random stages of a few operators, for oracles that try everything: matrices, attention, elementwise
// operators and all-reduces whose sizes make any of them the longest.
#include <random>

#include "models/llm/operator_graph.h"

namespace weir::test {

// All operators on the unit 0; all-reduces among `devices`, each of the same payload, as a model's are.
// Either a prologue alone, or a block of two or three layers after a prologue that ends in an all-reduce.
StageGraph random_stage(std::mt19937_64& random, int most_operators, int devices);

}  // namespace weir::test
