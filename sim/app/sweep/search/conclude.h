#pragma once
// Columns that depend on all points of a sweep: set once every point has ended, by the runner.
#include <vector>

#include "sim/app/results/result_set.h"
#include "sim/app/sweep/search/search_spec.h"

namespace weir {

// Sets `pareto` and `cheapest` to 1 or 0 in the summaries of the points that are done, as the searches ask.
// True if it set anything. Points that differ in their seed alone are judged by their means, and together.
bool conclude(const Searches& searches, std::vector<PointResult>& points);

// Which points no other beats: better in one number and not worse in any. Lower is better; a point with a
// NaN is none.
std::vector<bool> non_dominated(const std::vector<std::vector<double>>& points);

}  // namespace weir
