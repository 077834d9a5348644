#pragma once
// What a device draws: a linear model of power, after its datasheet. Filled from a device's catalog JSON.
#include "sim/core/units.h"

namespace weir {

struct PowerSpec {
  Watts idle, tdp;
  JoulesPerFlop per_flop;  // above idle, at the 16-bit tensor-core rate
  JoulesPerByte per_byte;  // of device memory
  JoulesPerByte per_link_byte;

  // Above idle. `flops` in 16-bit ones: an 8-bit one at twice the rate counts half.
  Joules dynamic(Flops flops, Bytes memory, Bytes link) const {
    return per_flop * flops + per_byte * memory + per_link_byte * link;
  }
};

}  // namespace weir
