#pragma once
// A step of a training job once its steps are alike: what more of them add to a run. The profiled step, the
// first ones, and the end of the last one, which no other overlaps, are the same in both runs and drop out.
#include <map>
#include <string>

#include "sim/training/train.h"

namespace weir {

struct SteadyStep {
  Seconds time;
  Joules energy;                            // above idle
  TimeSplit split;                          // of one step
  std::map<std::string, double> busy = {};  // by unit: the share of its members, or of a pool, over the time

  double busy_of(const std::string& unit) const;  // 0 of a unit that there is not
};

// Of the plan's first training job. Throws std::runtime_error where it has not the steps for two runs.
SteadyStep steady_step(const Plan& plan);

}  // namespace weir
