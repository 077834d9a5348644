#include "sim/serving/server/decode_run.h"

#include <algorithm>

namespace weir {

void DecodeRun::start(Seconds now) {
  start_ = now;
  steps_ = 1;
  pieces_.clear();
}

void DecodeRun::plan(const StepModel& model, const StepWork& work, std::int64_t steps, double pace) {
  steps_ = model.decode_run(work, steps, pieces_);
  if (pace == 1) return;
  for (StepRun& piece : pieces_) piece.first.stretch(1 / pace), piece.slope.stretch(1 / pace);
}

void DecodeRun::end_by(Seconds time) {
  steps_ = std::min(steps_, steps_by(time));
}

void DecodeRun::cut_at(Seconds time, std::int64_t more_steps) {
  steps_ = std::min(steps_, steps_by(time) + 1 + more_steps);
}

std::int64_t DecodeRun::steps_by(Seconds time_) const {
  std::int64_t low = 0, high = steps_;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (start_ + time(middle) <= time_)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

Seconds DecodeRun::time(std::int64_t steps) const {
  Seconds sum(0);
  for (const StepRun& piece : pieces_) {
    const std::int64_t n = std::min(steps, piece.steps);
    sum += piece.time(n);
    steps -= n;
    if (steps == 0) break;
  }
  return sum;
}

StepCost DecodeRun::total(std::int64_t steps) const {
  StepCost cost;
  for (const StepRun& piece : pieces_) {
    const std::int64_t n = std::min(steps, piece.steps);
    cost += piece.total(n);
    steps -= n;
  }
  return cost;
}

}  // namespace weir
