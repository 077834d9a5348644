#include "sim/step/cost/power_limit.h"

#include <algorithm>

namespace weir {
namespace {

PowerDraw draw_of(const StepCost& cost) {
  return {cost.compute_bound, cost.time - cost.compute_bound, cost.clocked, cost.energy - cost.clocked};
}

StepCost after(const StepRun& run, std::int64_t steps) {
  StepCost cost = run.first;
  cost += static_cast<double>(steps) * run.slope;
  return cost;
}

}  // namespace

PowerLimit::PowerLimit(const DeviceSpec& device)
    : power_(device.power),
      unit_(static_cast<std::size_t>(std::max(0, unit_running(device.units, KernelKind::gemm)))) {}

int PowerLimit::level(const StepCost& full_clocks) const {
  return clock_level(power_, draw_of(full_clocks));
}

StepCost PowerLimit::at(int level, StepCost cost) const {
  if (level == 0) return cost;
  const auto [time, energy] = at_level(power_, draw_of(cost), level);
  const Seconds longer = time - cost.time;
  cost.time = time;
  cost.compute_bound += longer;
  cost.busy[unit_] += longer;
  cost.energy = energy;
  return cost;
}

// Watts at a level are more than the limit or not on one side of a step alone: a quotient of two lines.
StepRun PowerLimit::kept(const StepRun& full_clocks) const {
  const int first = level(full_clocks.first);
  const auto runs_so = [&](std::int64_t step) { return level(after(full_clocks, step)) == first; };
  std::int64_t low = 0, high = full_clocks.steps;  // the first is one, the one behind the last is none
  if (high > 1 && runs_so(high - 1)) low = high - 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (runs_so(middle) ? low : high) = middle;
  }
  return {at(first, full_clocks.first), at(first, full_clocks.slope), high};
}

}  // namespace weir
