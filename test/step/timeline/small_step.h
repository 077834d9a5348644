#pragma once
// Step graphs small enough for pencil and paper, and how they play out.
#include <algorithm>
#include <vector>

#include "sim/step/timeline/timeline.h"

namespace weir::test {

using Draws = std::vector<StepGraph::Draw>;
using Portions = std::vector<StepGraph::Portion>;

inline StepGraph::Alternative on(int unit, double seconds, Draws draws = {}) {
  return {unit, {{0, Seconds(seconds)}}, std::move(draws), 0, 0};
}
inline StepGraph::Alternative on_members(int unit, Portions portions) {
  return {unit, std::move(portions), {}, 0, 0};
}
inline StepGraph::Alternative in_pool(int unit, double seconds, double least, double most) {
  return {unit, {{0, Seconds(seconds)}}, {}, least, most};
}

// In order of layer and operator.
inline std::vector<OperatorRecord> played(const StepGraph& graph,
                                          const PlacementPolicy& policy = earliest_free) {
  std::vector<OperatorRecord> trace;
  Timeline(graph, policy).evaluate({.trace = &trace});
  std::stable_sort(trace.begin(), trace.end(), [](const auto& a, const auto& b) {
    return std::pair(a.layer, a.op) < std::pair(b.layer, b.op);
  });
  return trace;
}

inline double total(const StepGraph& graph) {
  return Timeline(graph).evaluate().total.value();
}

}  // namespace weir::test
