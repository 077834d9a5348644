// A server's run of steps that are summed: how far it is, and how it ends before its time.
#include <algorithm>

#include "devices/actor/clock.h"
#include "sim/serving/server/server.h"

namespace weir {

// It ends with the step that is under way, or so many later.
void Server::cut_run(std::int64_t more_steps) {
  const std::int64_t planned = run_.steps();
  run_.cut_at(now(), more_steps);
  if (run_.steps() < planned) stages_[0].devices->end_at(run_.end());
}

std::int64_t Server::steps_over() const {
  return in_run_ && replica_.plan().spec.sees_late() ? run_.steps_by(now()) : 0;
}

std::int64_t Server::outstanding_tokens(Seconds at) const {
  std::int64_t tokens = replica_.outstanding_tokens();
  if (in_run_) tokens -= pipe_[0].iteration.given_by(run_.steps_by(at));
  return tokens;
}

// Others may find room now.
void Server::withdraw_handover(std::int32_t request) {
  replica_.of(request).withdraw_handover(request, now());
  wake();
}

void Server::renew_handover(std::int32_t request, int from_replica) {
  Replica& rank = replica_.of(request);
  rank.renew_handover(request, from_replica, now(), steps_over());
  wake_for_arrival(rank);
}

bool Server::computes() const {
  return in_run_ || occupied_ > 0 || std::ranges::any_of(pipe_, [](const InPipe& p) { return p.used; });
}

void Server::commit_until(Seconds at) {
  if (!in_run_) return;
  const std::int64_t steps = run_.steps_by(at);
  if (steps == 0) return;
  in_run_ = false;
  commit_run(pipe_[0].iteration, run_.began() + run_.time(steps), steps);
}

}  // namespace weir
