#pragma once
// A device's power: a linear model, after its datasheet. Filled from a device's catalog JSON.
#include <string_view>

#include "sim/core/units.h"

namespace weir {

// Watts of 27 steady vLLM servers on H100 (llama3.1-8b TP1, qwen3-32b TP1 and TP2; the ML.ENERGY leaderboard)
// add up to 2.4 times Weir's, each is 2.1 to 2.7 times its own: docs/calibration. Wherever a GPU's joules are
// printed this stands beside them, until a model of its clocks is there.
inline constexpr std::string_view gpu_energy_note =
    "GPU joules are 2.4 times too low against H100 servers (ML.ENERGY)";

struct PowerSpec {
  Watts idle, tdp;
  JoulesPerFlop per_flop;  // above idle, at the 16-bit tensor-core rate
  JoulesPerByte per_byte;  // of device memory
  JoulesPerByte per_link_byte;
  std::string_view note = {};  // what is known to be wrong with it

  // Above idle. `flops` in 16-bit ones: an 8-bit one at twice the rate counts half.
  Joules dynamic(Flops flops, Bytes memory, Bytes link) const {
    return per_flop * flops + per_byte * memory + per_link_byte * link;
  }
};

}  // namespace weir
