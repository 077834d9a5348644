// Whichever of the CPU and the cores in the memory is done sooner, and no pairs: how Liu et al. (MICRO 2018,
// Section VI-F) run a net beside another one that has the pairs, "on CPU or the programmable PIM, when they
// are idle". What yields to whom is the timeline's.
#include "policies/runtime/runtime.h"

namespace weir {
namespace {

class SpareCores final : public RuntimePolicy {
 public:
  RuntimeUnits needs() const override { return {.programmable = true}; }

  std::vector<OperatorPlace> places(const TensorOperation&, bool) const override {
    return {OperatorPlace::cpu, OperatorPlace::programmable};
  }

  int choose(const RuntimeSnapshot& now, std::span<const PlaceOption> options) const override {
    const auto done = [&](const PlaceOption& option) { return wait_for(option, now) + option.alone; };
    return done(options[1]) < done(options[0]) ? 1 : 0;
  }
};

}  // namespace

std::shared_ptr<const RuntimePolicy> make_spare_cores_runtime(Params&) {
  return std::make_shared<SpareCores>();
}

}  // namespace weir
