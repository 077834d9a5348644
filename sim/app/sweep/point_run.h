#pragma once
// One point of a sweep is a simulation, or a search of several. Called by the runner in a child process
// that has made no SimGrid Engine yet.
#include "sim/app/sweep/sweep.h"

namespace weir {

// summary.json of the point, and what sweeps add to it (docs/results.md). Throws what went wrong.
Json run_point(const Sweep& sweep, const Point& point);

}  // namespace weir
