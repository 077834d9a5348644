#pragma once
// Runs of played steps without playing each. Between the breakpoints that a device declares, its operators'
// times are lines over the steps, and so is what the timeline makes of them, but for where somebody waits for
// another one or a prefetch no longer fits. StepModel asks; nobody else needs it.
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/engine/step/step_cost.h"

namespace weir {

// Appends to `runs` what steps 0 to `steps` - 1 cost, in segments: between two steps that were played is a
// line where the two have the same causes (StepResult::causes) and the step in the middle, those next to the
// two and, between 16 steps or more, those in the quarters lie on it to 1e-9; elsewhere they are cut in
// halves. Returns how many steps it covered: fewer than
// `steps` once it has played `most_played`.
std::int64_t append_lines(const std::function<PlayedCost(std::int64_t step)>& play, std::int64_t steps,
                          std::int64_t most_played, std::vector<StepRun>& runs);

}  // namespace weir
