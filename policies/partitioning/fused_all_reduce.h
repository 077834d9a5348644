#pragma once
// GEMM and all-reduce as one kernel: both in chunks of output columns, so that one chunk is added up over the
// ranks while the next is multiplied. How far that hides the all-reduce comes out of the step timeline. The
// rows of the partitioning table wrap their policy in it; nobody else needs it.
#include "policies/partitioning/partitioning.h"

namespace weir {

// Reads "fused_all_reduce_chunks"; for 1 returns the policy itself.
std::shared_ptr<const PartitioningPolicy> with_fused_all_reduce(
    Params& params, std::shared_ptr<const PartitioningPolicy> policy);

}  // namespace weir
