#pragma once
// Online adjustment of what is on the GPU (Hermes, Section IV-C 2): asked once a layer and token, while the
// GPU computes the projection and PCIe is free. Hot neurons (state above 10) that are not there come in, each
// over the place of a neuron there that is not hot; nothing is written back, as the DIMMs hold all weights.
// A place in the GPU's memory is as large as a neuron of its block, so that swaps stay within a block. Pure:
// the engine applies them.
#include <cstdint>
#include <span>
#include <vector>

#include "policies/placement/neurons/neurons.h"

namespace weir {

struct NeuronSwap {
  std::uint32_t in, out;  // neurons of one block
};

struct AdjustableBlock {
  std::span<const std::uint8_t> states;  // see predictor.h
  std::span<const std::uint8_t> on_gpu;  // 1 or 0
  Bytes neuron;
};

// Hottest for coldest, of both blocks those first that gain most states; as many as the budget pays for:
// what PCIe takes during the projection. Of equals the lower index and the attention block.
PerBlock<std::vector<NeuronSwap>> swaps(const PerBlock<AdjustableBlock>& layer, Bytes budget);

}  // namespace weir
