#pragma once
// Decode steps that a replica's devices take as one execution, and what is over of them at a time.
#include <vector>

#include "sim/step/step_model.h"

namespace weir {

class DecodeRun {
 public:
  // Nothing but a step by itself, which begins now.
  void start(Seconds now);
  // At most so many steps of `work`, by devices at that pace.
  void plan(const StepModel& model, const StepWork& work, std::int64_t steps, double pace);
  void plan_step(const StepCost& cost) { pieces_.push_back({cost, {}, 1}); }
  void end_by(Seconds time);  // without the steps that would be under way then
  // Ends with the step that is under way then, or so many later, if it does not end sooner.
  void cut_at(Seconds time, std::int64_t more_steps);

  Seconds began() const { return start_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t steps_by(Seconds time) const;  // whole ones
  Seconds time(std::int64_t steps) const;     // of the first so many
  Seconds time() const { return time(steps_); }
  Seconds end() const { return start_ + time(); }
  StepCost total(std::int64_t steps) const;
  const std::vector<StepRun>& pieces() const { return pieces_; }

 private:
  Seconds start_{0};
  std::int64_t steps_ = 1;
  std::vector<StepRun> pieces_;
};

}  // namespace weir
