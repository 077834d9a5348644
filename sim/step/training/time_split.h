#pragma once
// What the time of a training step goes into, as Liu et al. (MICRO 2018, Section VI-A) break it down:
// operation while anything computes; movement while all that happens is bytes on their way to a CPU or a GPU;
// synchronisation while the host starts or awaits kernels and nothing else happens. Pure.
#include <span>

#include "sim/step/training/training_step.h"

namespace weir {

struct TimeSplit {
  Seconds operation, movement, synchronisation;
};

// Of the step `layer` (from 0) of the records, from the end of the one before to its own.
TimeSplit time_split(const TrainingPlan& plan, std::span<const OperatorRecord> records, std::int64_t layer);

}  // namespace weir
