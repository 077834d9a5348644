#include "policies/placement/neurons/online/adjustment.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "policies/placement/neurons/online/indices.h"
#include "policies/placement/neurons/online/predictor.h"

namespace weir {
namespace {

// The first `count` of the neurons by rank, each below 16; of equals the lower index. Sorted by counting:
// a pass a rank, which stops early, takes longer, as no branch of it can be foreseen.
template <class Rank>
std::vector<std::uint32_t> first_by(const Rank& rank, const std::vector<std::uint32_t>& neurons,
                                    std::size_t count) {
  std::array<std::size_t, 17> place{};  // of the next neuron of each rank
  for (const std::uint32_t i : neurons) ++place[rank(i) + 1U];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::uint32_t> sorted(neurons.size());
  for (const std::uint32_t i : neurons) sorted[place[rank(i)]++] = i;
  sorted.resize(count);
  return sorted;
}

std::vector<NeuronSwap> best_swaps(const AdjustableBlock& block, Bytes budget) {
  const std::uint8_t *const states = block.states.data(), *const on_gpu = block.on_gpu.data();
  const auto hot = indices_where(block.states.size(), [=](std::size_t i) {
    return (states[i] > hottest_cold_state) & (on_gpu[i] == 0);
  });
  const auto cold = indices_where(block.states.size(), [=](std::size_t i) {
    return (states[i] <= hottest_cold_state) & (on_gpu[i] != 0);
  });
  const auto count = static_cast<std::size_t>(
      std::min(static_cast<double>(std::min(hot.size(), cold.size())), budget / block.neuron));
  const auto in = first_by([=](std::uint32_t i) { return 15U - states[i]; }, hot, count);
  const auto out = first_by([=](std::uint32_t i) { return 0U + states[i]; }, cold, count);
  std::vector<NeuronSwap> swaps;
  for (std::size_t k = 0; k < count; ++k) swaps.push_back({in[k], out[k]});
  return swaps;
}

}  // namespace

PerBlock<std::vector<NeuronSwap>> swaps(const PerBlock<AdjustableBlock>& layer, Bytes budget) {
  PerBlock<std::vector<NeuronSwap>> best, chosen;
  for (const NeuronBlock block : neuron_blocks) best[block] = best_swaps(layer[block], budget);
  const auto gain = [&](NeuronBlock block) {  // of the block's next swap; -1 if there is none that fits
    const std::size_t next = chosen[block].size();
    if (next == best[block].size() || layer[block].neuron > budget) return -1;
    return layer[block].states[best[block][next].in] - layer[block].states[best[block][next].out];
  };
  for (;;) {
    const int attention = gain(NeuronBlock::attention), mlp = gain(NeuronBlock::mlp);
    if (std::max(attention, mlp) < 0) return chosen;
    const NeuronBlock block = attention >= mlp ? NeuronBlock::attention : NeuronBlock::mlp;
    chosen[block].push_back(best[block][chosen[block].size()]);
    budget -= layer[block].neuron;
  }
}

}  // namespace weir
