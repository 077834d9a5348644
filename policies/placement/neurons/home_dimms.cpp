#include "policies/placement/neurons/home_dimms.h"

#include <algorithm>
#include <numeric>

namespace weir {

void HomeDimms::deal(Bytes neuron, std::span<const std::uint32_t> hottest_first, NeuronSites& sites) {
  std::vector<std::uint32_t> order(hottest_first.begin(), hottest_first.end());
  std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) { return !sites.on_gpu[i]; });
  std::vector<std::uint8_t> emptiest_first(filled_.size());
  std::iota(emptiest_first.begin(), emptiest_first.end(), std::uint8_t{0});
  std::ranges::stable_sort(emptiest_first, [&](auto a, auto b) { return filled_[a] < filled_[b]; });

  const std::size_t dimms = filled_.size(), whole_rounds = order.size() / dimms;
  sites.dimm.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t round = i / dimms, turn = i % dimms;
    const bool back = round % 2 == 1 && round < whole_rounds;  // the rest goes to the emptiest
    const std::uint8_t dimm = emptiest_first[back ? dimms - 1 - turn : turn];
    sites.dimm[order[i]] = dimm;
    filled_[dimm] += neuron;
  }
}

}  // namespace weir
