#include "policies/runtime/pair_work.h"

namespace weir {

DividedWork divided_work(const TrainingOperator& op) {
  const bool gradient =
      op.type == OperatorType::conv2d_backprop_filter || op.type == OperatorType::conv2d_backprop_input;
  return {op.work.multiplications, op.work.additions,
          op.work.other + (gradient ? static_cast<double>(op.patch_elements) : 0)};
}

PairsDo pairs_do(const TrainingOperator& op) {
  const DividedWork work = divided_work(op);
  const double on_pairs = work.multiplications + work.additions;
  if (!(on_pairs > work.rest)) return PairsDo::little;
  return work.rest > 0 ? PairsDo::most : PairsDo::all;
}

}  // namespace weir
