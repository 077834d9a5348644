#pragma once
// About how long a sweep or a scenario will take, for `weir check` and before `weir run`: some of its points
// are run and timed, each in a process of its own. Nobody who calls this may have made a SimGrid Engine.
#include <string>
#include <vector>

#include "sim/app/sweep/sweep.h"
#include "sim/plan/plan.h"

namespace weir {

struct TimeEstimate {
  std::size_t points = 1;
  double point_s = 0;     // mean wall clock of those that were timed, to their end
  int timed = 0;          // points, spread over the sweep
  bool whole = true;      // each ran to its end; else the time of one is extrapolated from what it did
  bool at_least = false;  // one was stopped: it took longer
  std::string failed;     // why a point failed
  double all_s = 0;       // on `jobs` cores
  int jobs = 1;
};

TimeEstimate estimate_time(const Sweep& sweep);
TimeEstimate estimate_time(const Plan& plan);
std::string in_words(const TimeEstimate& estimate);
// Where collectives that are played as flows take minutes: that, and what to do; else nothing.
std::vector<std::string> flows_warning(const TimeEstimate& estimate);

}  // namespace weir
