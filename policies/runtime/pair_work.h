#pragma once
// What of an operator the fixed-function pairs of a memory can do, which are multipliers and adders and
// nothing else (Liu et al., MICRO 2018, Sections II-A and III-B). It follows from the operator's arithmetic;
// no list of types says it.
#include "models/nn/training_graph.h"

namespace weir {

// An operator's work by who can do it.
struct DividedWork {
  double multiplications = 0, additions = 0;  // pairs can
  double rest = 0;                            // elements that need a processor
};

// The rest is all `other` arithmetic, and for the two gradients of a convolution the matrix of patches that
// they gather or scatter: the paper counts a convolution among what is multiplications and additions
// throughout, its gradients among what has other phases around them (Section II-A, Figure 6).
DividedWork divided_work(const TrainingOperator& op);

enum class PairsDo {
  all,     // nothing is left
  most,    // more than half of its operations; it is split
  little,  // half of them or less, nothing, or the operator does nothing at all; it is better left whole
};
PairsDo pairs_do(const TrainingOperator& op);

}  // namespace weir
