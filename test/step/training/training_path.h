#pragma once
// The times of training steps if no unit and no resource were ever in an operator's way.
#include <vector>

#include "sim/step/training/training_step.h"

namespace weir::test {

// When each placed step would end at the earliest, operators in the places that the trace shows.
std::vector<Seconds> ends_on_longest_paths(const TrainingPlan& plan,
                                           const std::vector<OperatorRecord>& trace);
// When each did.
std::vector<Seconds> ends_of_steps(const TrainingPlan& plan, const std::vector<OperatorRecord>& trace);

}  // namespace weir::test
