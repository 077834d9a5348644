// Fixed PIM of Liu et al. (MICRO 2018, Section VI): it "executes the operations that can be offloaded on
// fixed-function PIM and other operations on CPU (without our runtime scheduling)". So there are no
// candidates, the pairs are waited for where they are busy, and the CPU does what pairs cannot.
#include "policies/runtime/pair_work.h"
#include "policies/runtime/runtime.h"

namespace weir {
namespace {

class FixedPim final : public RuntimePolicy {
 public:
  RuntimeUnits needs() const override { return {.fixed_function = true}; }

  std::vector<OperatorPlace> places(const TensorOperation& operation, bool) const override {
    switch (pairs_do(operation)) {
      case PairsDo::all:
        return {OperatorPlace::fixed_function};
      case PairsDo::most:
        return {OperatorPlace::split};
      default:
        return {OperatorPlace::cpu};
    }
  }
};

}  // namespace

std::shared_ptr<const RuntimePolicy> make_fixed_pim_runtime(Params&) {
  return std::make_shared<FixedPim>();
}

}  // namespace weir
