#pragma once
// A runtime profiles one step, which the CPU runs operator by operator, and chooses the types of operators to
// offer to memory that computes (Liu et al., MICRO 2018, Section III-C, step 1). Called once a training run,
// before the first step that is placed. Pure arithmetic.
#include <vector>

#include "models/nn/operator_type.h"
#include "sim/core/units.h"

namespace weir {

// Over all operators of a type in one step.
struct TypeProfile {
  OperatorType type = OperatorType::conv2d;
  int invocations = 0;
  Seconds time;
  double accesses = 0;  // of main memory: misses of the last cache
};
using StepProfile = std::vector<TypeProfile>;  // a row a type, in any order

// Both lists are descending, by time and by accesses; the indices of a type in them are added, and types are
// taken by ascending sum until they cover `share` of the step's time, the one that reaches it included.
// Equals in a list have one index, that of the first of them. Equal sums go by time, the longer first, then
// by the order of OperatorType, so that the order of the rows never matters. Returns the types as they were
// taken. Throws std::invalid_argument where the share is not in (0, 1], a type has two rows, or a number is
// negative or not finite.
std::vector<OperatorType> offload_candidates(const StepProfile& profile, double share);

}  // namespace weir
