#include "policies/partitioning/partitioning.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);

const Catalog<PartitioningPolicy>& partitioning_policies() {
  static const Catalog<PartitioningPolicy> table = {
      {"device_only", "every operator on the device itself, collectives on its link",
       make_device_only_partitioning},
  };
  return table;
}

}  // namespace weir
