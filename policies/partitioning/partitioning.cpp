#include "policies/partitioning/partitioning.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_npu_pim_partitioning(Params& params);
std::shared_ptr<const PartitioningPolicy> make_npu_units_partitioning(Params& params);

const Catalog<PartitioningPolicy>& partitioning_policies() {
  static const Catalog<PartitioningPolicy> table = {
      {"device_only", "every operator on the device itself, collectives on its link",
       make_device_only_partitioning},
      {"npu_units", "an NPU: matrices and attention on its arrays, the rest on its vector units",
       make_npu_units_partitioning},
      {"npu_pim", "an NPU with PIM: the attention of decodes in its memory, the rest as npu_units",
       make_npu_pim_partitioning},
  };
  return table;
}

}  // namespace weir
