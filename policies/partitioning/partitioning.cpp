#include "policies/partitioning/partitioning.h"

#include "policies/partitioning/fused_all_reduce.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_gpu_pim_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_npu_pim_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_npu_units_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_weights_in_host_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_active_weights_in_host_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_hot_cold_partitioning(Params& params);

namespace {

template <auto make>
std::shared_ptr<const PartitioningPolicy> fusing(Params& params) {
  return with_fused_all_reduce(params, make(params));
}

}  // namespace

const Catalog<PartitioningPolicy>& partitioning_policies() {
  static const Catalog<PartitioningPolicy> table = {
      {"device_only", "every operator on the device itself, collectives on its link",
       fusing<make_device_only_partitioning>, by_default},
      {"npu_units", "an NPU: matrices and attention on its arrays, the rest on its vector units",
       fusing<make_npu_units_partitioning>},
      {"npu_pim", "an NPU with PIM: the attention of decodes in its memory, the rest as npu_units",
       fusing<make_npu_pim_partitioning>},
      {"gpu_pim",
       "a GPU: the attention of decodes in the host's DIMMs or in PIM of its own, the rest on itself",
       fusing<make_gpu_pim_partitioning>},
      {"weights_in_host",
       "as device_only, with weights that have no room in the host's memory: they come over its link in "
       "every step",
       make_weights_in_host_partitioning},
      {"active_weights_in_host",
       "as weights_in_host, of the neurons that a network predicts to be active alone (Deja Vu)",
       make_active_weights_in_host_partitioning},
      {"hot_cold",
       "a GPU with neurons that are active often beside NDP-DIMMs with all others, and attention (Hermes)",
       make_hot_cold_partitioning},
  };
  return table;
}

}  // namespace weir
