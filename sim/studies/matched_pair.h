#pragma once
// A training job and the net beside it in matched times: of the latter so many steps are trained that by
// itself, on the same machine, it takes as long as the placed steps of the former. The job's profiled step,
// which nothing goes beside, is left out.
#include "sim/plan/training_spec.h"

namespace weir {

struct MatchedPair {
  Seconds first, beside;    // each by itself
  Seconds together;         // at once, until both have ended
  double beside_steps = 0;  // for one of the job's own that is placed
};

// The job has a net beside it, whose number of steps is not looked at, and at least two steps of its own.
MatchedPair matched_pair(TrainingJob job);

}  // namespace weir
