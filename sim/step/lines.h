#pragma once
// Runs of played steps without playing each. Between the breakpoints that a device declares, its operators'
// times are lines over the steps, and so is what the timeline makes of them, but for where somebody waits for
// another one or a prefetch no longer fits. StepModel asks; nobody else needs it.
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/step/cost/step_cost.h"

namespace weir {

// Appends to `runs` what steps 0 to `steps` - 1 cost, in segments: two steps that were played and have the
// same causes are the ends of one if nothing but a line can be between them (Between), or if the step in the
// middle and one in a quarter lie on it to 1e-9 where it may be a curve, and those in both quarters and next
// to the two as well where it may be anything; elsewhere they are cut, where causes change or lines meet if
// that is seen at the ends, else in halves. Returns how many steps it covered: fewer than `steps` once it has
// played `most_played`.
std::int64_t append_lines(const std::function<PlayedCost(std::int64_t step)>& play, std::int64_t steps,
                          std::int64_t most_played, std::vector<StepRun>& runs);

}  // namespace weir
