#pragma once
// Which layers of a stage are alike, so that they are one part. build_stage asks; nobody else needs it.
#include <span>
#include <vector>

#include "models/llm/architecture.h"

namespace weir {

// Layers in this order, so many times. A model whose every third layer is another one is runs of three.
struct LayerRun {
  std::span<const LayerKind> layers;
  std::int64_t times = 1;
};

// From the first layer on, the run that takes in most of what follows, of the shortest period among equals;
// then on behind it. Periods are of 8 layers at most.
std::vector<LayerRun> runs_of(std::span<const LayerKind> layers);

}  // namespace weir
