#include "models/energy/power.h"

#include <algorithm>

namespace weir {
namespace {

// NVIDIA's clocks go in steps of 15 MHz (nvidia-smi -q -d SUPPORTED_CLOCKS), 132 of them up to an H100's
// 1,980 MHz; other generations alike. ESTIMATE: below half of the clocks memory would be slower too.
constexpr double clock_steps = 132;

// CMOS: a switching takes energy as the square of the voltage, which follows the clock, so that watts follow
// its cube. ESTIMATE: the voltage follows in proportion, and all of `active` switches.
double square(double clock) {
  return clock * clock;
}
double cube(double clock) {
  return clock * clock * clock;
}

Joules switched(const PowerDraw& draw, double clock) {
  return draw.other + square(clock) * draw.clocked;
}

// Kernels are as fast as the sustained clocks let them, so that the fall to these costs no time again.
Seconds slower(const PowerSpec& power, const PowerDraw& draw, double clock) {
  return std::max(1.0, power.sustained / clock) * draw.compute + draw.rest;
}

}  // namespace

double clock_share(int level) {
  return 1 - std::min(level, lowest_clock_level - 1) / clock_steps;
}

ClockedDraw at_level(const PowerSpec& power, const PowerDraw& draw, int level) {
  if (level == 0) return {draw.compute + draw.rest, draw.clocked + draw.other};
  const Watts above_active = power.tdp - power.idle - power.active;
  const double clock = clock_share(level);
  // At the last one it takes as long as the limit leaves watts for it.
  const Seconds time =
      level == lowest_clock_level
          ? Seconds(switched(draw, clock).value() / (above_active + (1 - cube(clock)) * power.active).value())
          : slower(power, draw, clock);
  return {time, above_active * time};
}

bool exceeds_limit(const PowerSpec& power, const PowerDraw& draw, int level) {
  if (level == lowest_clock_level) return false;
  const double clock = clock_share(level);
  const Watts left = power.tdp - power.idle - cube(clock) * power.active;
  return switched(draw, clock) > left * slower(power, draw, clock);
}

int clock_level(const PowerSpec& power, const PowerDraw& draw) {
  if (!power.clocked || !exceeds_limit(power, draw, 0)) return 0;
  int above = 0, level = lowest_clock_level;
  while (level - above > 1) {
    const int middle = (above + level) / 2;
    (exceeds_limit(power, draw, middle) ? above : level) = middle;
  }
  return level;
}

}  // namespace weir
