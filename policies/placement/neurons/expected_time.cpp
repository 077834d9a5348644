#include "policies/placement/neurons/expected_time.h"

#include <algorithm>
#include <numeric>

namespace weir {

BlockTime expected_time(const NeuronMachine& machine, NeuronBlock block, std::span<const float> frequencies,
                        const NeuronSites& sites) {
  const NeuronCost& cost = machine.costs[block];
  std::vector<double> loads(static_cast<std::size_t>(machine.dimms));
  double gpu = 0;
  bool gpu_has_any = false;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    (sites.on_gpu[i] ? gpu : loads[sites.dimm[i]]) += static_cast<double>(frequencies[i]);
    gpu_has_any |= sites.on_gpu[i] != 0;
  }
  const double most = std::ranges::max(loads),
               mean = std::accumulate(loads.begin(), loads.end(), 0.0) / machine.dimms;
  return {gpu_has_any ? gpu * cost.gpu_time + cost.gpu_fixed + 2 * machine.sync : Seconds(),
          most * cost.dimm_time, mean > 0 ? most / mean : 1};
}

Seconds expected_time(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::span<const LayerSites> sites) {
  Seconds sum;
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (const NeuronBlock block : neuron_blocks)
      sum += expected_time(machine, block, layers[l][block], sites[l][block]).total();
  return sum;
}

}  // namespace weir
