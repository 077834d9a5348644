#include "policies/runtime/runtime.h"

namespace weir {

// Factories by file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const RuntimePolicy> make_cpu_only_runtime(Params& params);
std::shared_ptr<const RuntimePolicy> make_gpu_only_runtime(Params& params);
std::shared_ptr<const RuntimePolicy> make_progr_pim_runtime(Params& params);
std::shared_ptr<const RuntimePolicy> make_fixed_pim_runtime(Params& params);
std::shared_ptr<const RuntimePolicy> make_hetero_pim_runtime(Params& params);
std::shared_ptr<const RuntimePolicy> make_spare_cores_runtime(Params& params);

const Catalog<RuntimePolicy>& runtime_policies() {
  static const Catalog<RuntimePolicy> table = {
      {"cpu_only", "all operators of a training step on the CPU", make_cpu_only_runtime, by_default},
      {"gpu_only", "all operators of a training step on the GPU", make_gpu_only_runtime},
      {"progr_pim", "all operators of a training step on cores in the memory", make_progr_pim_runtime},
      {"fixed_pim", "multiplications and additions on pairs in the memory, all else on the CPU",
       make_fixed_pim_runtime},
      {"hetero_pim",
       "types that weigh most in a profile go to pairs and cores in the memory while these are idle",
       make_hetero_pim_runtime},
      {"spare_cores", "whichever of the CPU and cores in the memory is done sooner; the pairs are another's",
       make_spare_cores_runtime},
  };
  return table;
}

}  // namespace weir
