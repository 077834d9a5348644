#include "policies/placement/neurons/online/remapping.h"

#include <algorithm>
#include <numeric>

#include "policies/placement/neurons/online/indices.h"

namespace weir {
namespace {

// The neurons of one DIMM, the most active first; of equals the lower index.
std::vector<std::uint32_t> most_active_first(const RemappableBlock& block,
                                             const std::vector<std::uint32_t>& computed, std::uint8_t dimm) {
  std::vector<std::uint32_t> neurons;
  for (const std::uint32_t i : computed)
    if (block.dimm[i] == dimm) neurons.push_back(i);
  std::ranges::stable_sort(neurons,
                           [&](auto a, auto b) { return block.activations[a] > block.activations[b]; });
  return neurons;
}

}  // namespace

std::vector<NeuronMove> remapped(const RemappableBlock& block) {
  const std::size_t dimms = block.free.size();
  const std::uint16_t* const activations = block.activations.data();
  const std::uint8_t* const on_gpu = block.on_gpu.data();
  const auto computed = indices_where(block.dimm.size(), [=](std::size_t i) {  // by DIMMs, in this window
    return (on_gpu[i] == 0) & (activations[i] > 0);
  });
  std::vector<std::int64_t> loads(dimms);  // Z of Algorithm 1
  for (const std::uint32_t i : computed) loads[block.dimm[i]] += block.activations[i];
  std::vector<std::uint8_t> order(dimms);
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return loads[a] > loads[b]; });

  std::vector<NeuronMove> moves;
  for (std::size_t id = 0; id < dimms / 2; ++id) {
    const std::uint8_t from = order[id], to = order[dimms - 1 - id];
    std::int64_t gap = loads[from] - loads[to];
    Bytes left = std::min(block.budget, block.free[to]);
    if (gap < 2 || left < block.neuron) continue;
    for (const std::uint32_t neuron : most_active_first(block, computed, from)) {
      if (left < block.neuron) break;
      const std::int64_t activity = block.activations[neuron];
      if (activity >= gap) continue;  // the gap would be as wide or wider, the other way round
      moves.push_back({neuron, from, to});
      gap -= 2 * activity;
      left -= block.neuron;
    }
  }
  return moves;
}

}  // namespace weir
