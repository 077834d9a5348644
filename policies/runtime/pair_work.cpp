#include "policies/runtime/pair_work.h"

namespace weir {

PairsDo pairs_do(const TensorOperation& operation) {
  if (only_multiplies_and_adds(operation)) return PairsDo::all;
  const SplitOperation parts = split(operation);
  const double on_pairs = parts.middle.work.total();
  return on_pairs > parts.rest.work.total() + parts.rest.patches.elements ? PairsDo::most : PairsDo::little;
}

}  // namespace weir
