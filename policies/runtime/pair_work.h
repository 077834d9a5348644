#pragma once
// The fixed-function pairs of a memory can do a part of an operator: they are multipliers and adders and
// nothing else (Liu et al., MICRO 2018, Sections II-A and III-B). It follows from the operator's arithmetic;
// no list of types says it.
#include "models/nn/tensor_operation.h"

namespace weir {

enum class PairsDo {
  all,     // nothing is left (only_multiplies_and_adds)
  most,    // more than half of its operations, moved patches among them; it is split
  little,  // half of them or less, nothing, or the operator does nothing at all; it is better left whole
};
PairsDo pairs_do(const TensorOperation& operation);

}  // namespace weir
