// Everything runs at one place: the CPU, the GPU, and Progr PIM of Liu et al. (MICRO 2018, Section VI), "as
// many ARM-based programmable cores as needed [...] without our runtime scheduling". How many cores that is
// says the machine.
#include "policies/runtime/runtime.h"

namespace weir {
namespace {

class OnePlace final : public RuntimePolicy {
 public:
  OnePlace(OperatorPlace place, RuntimeUnits needs) : place_(place), needs_(needs) {}
  RuntimeUnits needs() const override { return needs_; }
  std::vector<OperatorPlace> places(const TensorOperation&, bool) const override { return {place_}; }

 private:
  OperatorPlace place_;
  RuntimeUnits needs_;
};

}  // namespace

std::shared_ptr<const RuntimePolicy> make_cpu_only_runtime(Params&) {
  return std::make_shared<OnePlace>(OperatorPlace::cpu, RuntimeUnits{});
}

std::shared_ptr<const RuntimePolicy> make_gpu_only_runtime(Params&) {
  return std::make_shared<OnePlace>(OperatorPlace::gpu, RuntimeUnits{.gpu = true});
}

std::shared_ptr<const RuntimePolicy> make_progr_pim_runtime(Params&) {
  return std::make_shared<OnePlace>(OperatorPlace::programmable, RuntimeUnits{.programmable = true});
}

}  // namespace weir
