#pragma once
// How long a PIM channel's commands are busy at most, by which pim_channel.cpp says whether a tile is over
// before the next refresh; nobody else needs it.
#include "models/memory/memory_spec.h"

namespace weir {

// Artifact: NewtonSim's estimate (its channel_state.cc), 334 and 328 cycles for a logit and an attend tile:
// it counts tRTP for every open bank. Physical: to the end of the tile's results.
Cycles tile_estimate(const MemorySpec& memory, bool artifact, int heads, int comps, int open);

// A refresh's precharges, and until its rank comes back.
Cycles after_refresh(const MemorySpec& memory);

}  // namespace weir
