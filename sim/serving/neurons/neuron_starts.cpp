#include "sim/serving/neurons/neuron_starts.h"

#include <algorithm>
#include <chrono>

namespace weir {

StartMapping start_mapping(const NeuronPlan& plan) {
  const auto began = std::chrono::steady_clock::now();
  StartMapping start;
  if (plan.use.placement) {
    const NeuronProfile profile(plan);
    start.mapping = plan.use.placement->place(plan.machine, profile.layers(), plan.seed);
  } else {
    LayerSites all;
    for (const NeuronBlock block : neuron_blocks) {
      all[block].on_gpu.assign(static_cast<std::size_t>(plan.counts.of(block)), 1);
      all[block].dimm.assign(static_cast<std::size_t>(plan.counts.of(block)), 0);
    }
    start.mapping.layers.assign(static_cast<std::size_t>(plan.counts.layers), all);
  }
  start.took = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return start;
}

std::unique_ptr<NeuronTables> NeuronStarts::tables_for(const ReplicaPlan& replica, RunResult& result) {
  if (!result.neurons) result.neurons.emplace();
  NeuronTotals& totals = *result.neurons;
  const auto [start, first] = mappings_.try_emplace(&replica);
  if (first) {
    start->second = start_mapping(*replica.neurons);
    totals.gap = std::max(totals.gap, start->second.mapping.gap);
    totals.placement += start->second.took;
  }
  return std::make_unique<NeuronTables>(replica.neurons, replica.rank, start->second.mapping, totals);
}

}  // namespace weir
