#pragma once
// About how long a sweep will take, for `weir check`: some of its points are run and timed.
#include <string>

#include "sim/app/sweep/sweep.h"

namespace weir {

struct TimeEstimate {
  double point_s = 0;     // mean wall clock of those that were timed
  int timed = 0;          // points, spread over the sweep
  bool at_least = false;  // one was stopped: it took longer
  std::string failed;     // why a point failed
  double sweep_s = 0;     // on `jobs` cores
  int jobs = 1;
};

TimeEstimate estimate_time(const Sweep& sweep);
std::string in_words(const TimeEstimate& estimate);

}  // namespace weir
