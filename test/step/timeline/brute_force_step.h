#pragma once
// The rules of step_graph.h played the slow way: every layer written out, every moment everything looked at
// afresh, bandwidth shared by bisection. An independent oracle for the timeline; shares no code with it but
// the description.
#include <functional>
#include <vector>

#include "sim/step/timeline/timeline.h"

namespace weir::test {

struct BruteForceResult {
  double total = 0;
  std::vector<std::vector<double>> busy;  // [unit][member]
  std::vector<double> bytes;              // integrated over what flowed
  std::vector<OperatorRecord> records;    // by part, layer, index
};

// `time` and `rate` give what the timeline was refilled with: (op, alternative, portion or draw, layer).
using Lookup = std::function<double(int, int, int, std::int64_t)>;
BruteForceResult brute_force(const StepGraph& graph, const PlacementPolicy& policy, const Lookup& time,
                             const Lookup& rate);

// Dominant-share max-min speeds by bisection: demand[i][r] is flow i's at full speed.
std::vector<double> bisected_speeds(const std::vector<std::vector<double>>& demand,
                                    const std::vector<double>& capacity);

}  // namespace weir::test
