#pragma once
// A batch cut in two of half as many tokens, as SGLang's two-batch overlap cuts it: half of the decodes, and
// half of each prompt, in two chunks. AttentionRanks asks, once a step. Pure.
#include <array>
#include <span>
#include <vector>

#include "models/machine/batch_shape.h"

namespace weir {

class TwoBatches {
 public:
  // Halves of one that lies in one channel, or of several in lockstep. None where it has one row alone;
  // otherwise two, valid until the next call.
  std::span<const BatchShape> cut(const BatchShape& whole);

 private:
  void cut(const BatchShape& whole, std::array<BatchShape, 2>& halves);

  std::array<BatchShape, 2> halves_;
  std::array<std::vector<PrefillChunk>, 2> chunks_;
  std::array<std::vector<BatchShape>, 2> ranks_;
};

}  // namespace weir
