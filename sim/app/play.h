#pragma once
// Plays all that a plan has: replicas, training jobs, or both on one cluster. For `weir run` and sweeps.
#include <optional>
#include <vector>

#include "sim/serving/simulation.h"
#include "sim/training/train.h"

namespace weir {

struct Played {
  std::optional<RunResult> served;      // none where nothing serves
  std::vector<TrainingResult> trained;  // by job; beside replicas
  std::vector<Seconds> alone;           // by job: until its last step, with the cluster to itself
  Json served_alone;  // headline() of replicas without the jobs; null where they share nothing
};

// Beside jobs that share anything with replicas, these are simulated twice, the second time in a child.
Played play(const Plan& plan, RunOptions options);

}  // namespace weir
