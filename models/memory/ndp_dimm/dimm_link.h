#pragma once
// DIMM-link between two DIMMs of Hermes (Table II): 8 lanes of 25 Gb/s each way, point to point. Neurons that
// are remapped cross it beside whatever the channels carry. The paper has no latency for it.
#include "sim/core/units.h"

namespace weir {

struct DimmLink {
  BytesPerSecond bandwidth{8 * 25e9 / 8};  // lanes, bits a second of one; in each direction
  JoulesPerByte energy{8 * 1.17e-12};      // 1.17 pJ a bit

  Seconds transfer(Bytes bytes) const { return bytes / bandwidth; }
  Joules transfer_energy(Bytes bytes) const { return energy * bytes; }
};

}  // namespace weir
