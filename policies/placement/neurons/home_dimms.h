#pragma once
// Homes for neurons, dealt out so that the DIMMs of a block are alike: by frequency, there and back again
// (0 1 2 2 1 0 ...), those that the DIMMs compute first, those on the GPU after them, which only take room.
// Placement policies make one for a mapping and deal block by block. The fullest DIMM has at most one neuron
// more than the emptiest.
#include <cstdint>
#include <span>
#include <vector>

#include "policies/placement/neurons/neurons.h"

namespace weir {

class HomeDimms {
 public:
  explicit HomeDimms(int dimms) : filled_(static_cast<std::size_t>(dimms)) {}
  // Fills in sites.dimm; on_gpu is known.
  void deal(Bytes neuron, std::span<const std::uint32_t> hottest_first, NeuronSites& sites);

 private:
  std::vector<Bytes> filled_;
};

}  // namespace weir
