#pragma once
// Gradients as data-parallel copies of a net all-reduce them: in the order in which the backward pass makes
// them, gathered into buckets. Pure.
#include <vector>

#include "models/nn/training_graph.h"

namespace weir {

// PyTorch, torch.nn.parallel.DistributedDataParallel: bucket_cap_mb is 25 by default.
inline constexpr Bytes gradient_bucket(25 * 1024 * 1024);

struct GradientBucket {
  Bytes bytes;
  std::vector<std::size_t> makers, readers;  // vertices: of the backward pass, and of the updates
};

// Every gradient that the backward pass makes for an update is in one of them. A bucket is full once its
// gradients have `size` bytes or more.
std::vector<GradientBucket> gradient_buckets(const TrainingGraph& graph, Bytes size = gradient_bucket);

}  // namespace weir
