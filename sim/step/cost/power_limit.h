#pragma once
// The power limit of a device over the steps it runs. Its clocks follow the mean watts of whole steps, as the
// firmware's do, which averages over milliseconds, not over kernels. For StepModel alone.
#include "devices/device.h"
#include "sim/step/cost/step_cost.h"

namespace weir {

class PowerLimit {
 public:
  explicit PowerLimit(const DeviceSpec& device);

  int level(const StepCost& full_clocks) const;
  // The step with the clocks at this level. What it takes longer is bound by arithmetic.
  StepCost at(int level, StepCost cost) const;
  StepCost kept(const StepCost& full_clocks) const { return at(level(full_clocks), full_clocks); }
  // As many of its steps as run at the clocks of the first.
  StepRun kept(const StepRun& full_clocks) const;

 private:
  const PowerSpec power_;
  const std::size_t unit_;  // the one that matrices run on
};

}  // namespace weir
