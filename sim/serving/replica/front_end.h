#pragma once
// The front end between a replica's scheduler and its clients. A request passes it before it is queued: first
// in turn, then for a time of its own. Its tokens leave through it, one after another, and reach the client.
// A replica and its server ask it; it has no clock, and the times that it is given never go back.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/scenario.h"
#include "sim/step/cost/step_cost.h"

namespace weir {

class FrontEnd {
 public:
  // A token that has left is seen `reply` later.
  FrontEnd(const FrontEndSpec& spec, Seconds reply);

  // When the scheduler has the request that comes now.
  Seconds passes(Seconds now, std::int64_t input_tokens);

  bool one_by_one() const { return per_token_ > Seconds(0); }
  Seconds seen(Seconds time) const { return time + reply_; }  // where any number leaves at once
  // Each of `runs`' first so many steps, from `start` on, gives `tokens`. The times at which the first token
  // of each is in turn, as they are seen.
  std::span<const Seconds> turns(Seconds start, const std::vector<StepRun>& runs, std::int64_t steps,
                                 std::int64_t tokens);
  Seconds turn(Seconds ready, std::int64_t tokens);  // the same of one step
  // When the client sees that step's token, with so many before it.
  Seconds seen(Seconds turn, std::int64_t before) const {
    return turn + static_cast<double>(before + 1) * per_token_;
  }

 private:
  FrontEndSpec spec_;
  Seconds reply_, per_token_;
  Seconds takes_next_{0}, gives_next_{0};  // when those that came have been taken in, and left
  std::vector<Seconds> turns_;
};

}  // namespace weir
