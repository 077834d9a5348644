#pragma once
// Columns that depend on all points of a sweep: set once every point has ended, by the runner.
#include <vector>

#include "sim/app/results/result_set.h"
#include "sim/app/sweep/search/searches.h"

namespace weir {

// Sets `pareto` and `cheapest` to 1 or 0 in the summaries of the points that are done, as the searches ask.
// Which columns it set. Points that differ in their seed alone are judged by their means, and together.
std::vector<std::string> conclude(const Searches& searches, std::vector<PointResult>& points);

// The metrics that a search reads from the summaries.
std::vector<std::string> metrics_of(const Searches& searches);

}  // namespace weir
