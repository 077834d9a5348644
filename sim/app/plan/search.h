#pragma once
// Runs the deployments of a question as the points of a sweep, the cheapest first, until enough of those that
// are left could not be better: with results.sqlite and results.csv, resumable, each in a process of its own.
#include <string>
#include <vector>

#include "sim/app/plan/deployments.h"
#include "sim/app/sweep/runner.h"
#include "sim/app/sweep/sweep_directory.h"

namespace weir {

// Each deployment is a point, by its place.
Sweep sweep_of(const PlanQuestion& question, const Deployments& deployments);

struct SearchCounts {
  std::size_t run = 0;       // to their end
  std::size_t given_up = 0;  // once too many requests were late
  std::size_t failed = 0;
  std::size_t not_needed = 0;
};

struct PlanSearch {
  ResultSet results;  // of those that were run, with whole summaries
  SearchCounts counts;
};

// The same deployments are run whatever the number of jobs, as whether to go on is asked between rounds: of
// all deployments with the same least objective. It ends where the next ones can neither be among the `top`
// that meet the SLO nor, for the verdict, the best of those together or of those apart.
PlanSearch search(const PlanQuestion& question, const Deployments& deployments, const Sweep& sweep,
                  SweepDirectory& directory, const RunPoints& run_points, const Interruption& interruption,
                  const ShowEnded& show);

}  // namespace weir
