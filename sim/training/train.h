#pragma once
// Plays the training jobs of a plan, each on devices of its own. Called by `weir run` and by studies.
#include <memory>
#include <optional>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/step/training/time_split.h"

namespace weir {

struct TrainingResult {  // of a job
  std::shared_ptr<const TrainingStep> step;
  TrainingRun run;
  std::optional<TimeSplit> split;  // of a step once steps are alike; none where all there is is profiled
};

std::vector<TrainingResult> train(const Plan& plan);  // by job

}  // namespace weir
