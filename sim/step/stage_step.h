#pragma once
// From a model's operators to a step: a StageGraph (models/llm) placed on a device's units becomes a
// StepGraph whose operators draw from the device's memory and interconnect. The engine calls this once a
// configuration, then sets each operator's cost every step. Several stage graphs are independent chains side
// by side (sub-batches); what they share is the units and the bandwidth. Policies with operators of their own
// (prefetch, transfers) add them to the graph.
#include <span>
#include <string>
#include <vector>

#include "models/llm/operator_graph.h"
#include "models/machine/kernel_cost.h"
#include "sim/step/alternation.h"
#include "sim/step/timeline/timeline.h"

namespace weir {

struct StageStep {
  using Chain = std::vector<int>;  // of each part the index of its first operator; the rest follow in order
  StepGraph graph;
  std::vector<Chain> chains;
};

// Chains are free to go on whenever a unit is, or alternate on all of them. Operators go to the unit with the
// index Operator::unit, or to one member of it, and draw from the resources that it has a port to. A layer
// waits for all that ends the layer before, in its own chain. All chains have the same parts, as often, and
// every unit runs the operators placed on it, or it throws std::invalid_argument. Layers of a part in which
// an operator differs by layer are unlike.
StageStep stage_step(std::span<const StageGraph> chains, std::span<const Unit> units,
                     std::span<const Resource> resources, const Alternation* alternation = nullptr);

// An operator moves its bytes evenly over its time, while its unit withholds what its ports say. That time is
// its own with nothing beside it, so it never draws more than there is, even where a measured kernel is
// faster than its bytes over the nominal bandwidth. Every member of its unit gets that time; the caller sets
// those that differ. `layer` counts only where layers are unlike.
void set_cost(Timeline& timeline, const StepGraph& graph, int op, const KernelCost& cost,
              std::int64_t layer = 0);

}  // namespace weir
