#pragma once
// The bytes that a training job sends over links of the cluster and draws from hosts' memories in a step:
// batches on their way to GPUs, gradients between copies, tensors of a CPU whose memory computes for others.
// Called by Trainers.
#include <vector>

#include "sim/plan/plan.h"
#include "sim/serving/platform/cluster.h"

namespace weir {

// Of a step that is not profiled; none of a job that has all to itself. What a stack of its own holds is not
// the host's.
std::vector<LinkFlow> training_flows(const TrainingJob& job, const Cluster& cluster);
// The same question without a cluster: whether there may be any.
bool has_training_flows(const TrainingJob& job);

}  // namespace weir
