#pragma once
// Predictors tell replicas what a step will take, where their batching policy asks for it. A run makes one of
// these; it outlives no replica.
#include <memory>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/serving/record/results.h"
#include "sim/step/predict/profiled_times.h"

namespace weir {

class Predictors {
 public:
  // For one replica, which owns it; null: its policy has no predictor.
  std::unique_ptr<StepTimes> times_for(const ReplicaPlan& plan);
  // How far learned ones were off, and why some never trained.
  void tell(RunResult& result) const;

 private:
  std::vector<const ProfiledTimes*> learners_;
};

}  // namespace weir
