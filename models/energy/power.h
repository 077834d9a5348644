#pragma once
// A device's power: what its datasheet and, of a GPU, measured servers say (docs/calibration, "Power").
// Filled from a device's catalog JSON. A GPU's clocks fall where a step would draw more than its limit: the
// step model asks clock_level() and at_level() of every step, training of every kernel. Pure.
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace weir {

// Beside the joules of a GPU whose row says nothing else.
inline constexpr std::string_view unmeasured_power_note =
    "GPU joules are an H100's, scaled by the power limit: not measured";

struct PowerSpec {
  Watts idle, tdp;
  JoulesPerFlop per_flop;  // above idle, at the 16-bit tensor-core rate and full clocks
  JoulesPerByte per_byte;  // of device memory
  JoulesPerByte per_link_byte;
  std::string note = {};                  // what is known to be wrong with it, or not known
  bool clocked = false;                   // a GPU: what follows is its
  JoulesPerByte per_chip_byte = {};       // on its way between memory and multiprocessors
  JoulesPerByte per_attention_byte = {};  // the same of attention's kernels, beside that
  Watts active = {};                      // above idle while a step runs, at full clocks
  double sustained = 1;                   // the share of the full clocks that its kernels' times are of

  // Above idle and `active`. `flops` in 16-bit ones: an 8-bit one at twice the rate counts half.
  Joules dynamic(Flops flops, Bytes memory, Bytes link) const {
    return per_flop * flops + per_byte * memory + per_link_byte * link;
  }
};

// A step or a kernel at full clocks. Joules are above idle and PowerSpec::active.
struct PowerDraw {
  Seconds compute, rest;  // time bound by arithmetic, and by anything else
  Joules clocked, other;  // the first fall with the clocks
};

// Level 0: full clocks. So many steps below, and at the last no clock is low enough: all waits.
inline constexpr int lowest_clock_level = 67;

// The clocks at a level, as a share of the full ones.
double clock_share(int level);

// The draw with the clocks at this level: linear in the one at full clocks, so that lines stay lines. A GPU
// goes back and forth between this level and the one above, so that its mean watts are the limit.
struct ClockedDraw {
  Seconds time;
  Joules energy;  // above idle and `active` over that time
};
ClockedDraw at_level(const PowerSpec& power, const PowerDraw& draw, int level);

// Its mean watts are more than the limit at this level; never at the last.
bool exceeds_limit(const PowerSpec& power, const PowerDraw& draw, int level);

// The highest clocks that keep the limit. 0 of a device that is not clocked.
int clock_level(const PowerSpec& power, const PowerDraw& draw);

}  // namespace weir
