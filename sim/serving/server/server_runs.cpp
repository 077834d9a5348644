// A server's runs of steps, which SimGrid's kernel begins and ends: how far one is, and how it ends before
// its time.
#include <algorithm>

#include "devices/actor/clock.h"
#include "sim/serving/server/server.h"

namespace weir {

// No KV cache moves, so that nothing else happens at the instant at which a run ends: a transfer may be paced
// to end with a step, and is told after it.
bool Server::keeps_kv_caches(const ReplicaSpec& spec) {
  return spec.role == Role::both && spec.kv_cache.tiers.empty() &&
         spec.kv_cache.preemption == Preemption::recompute && !spec.batching->moves_kv_caches();
}

bool Server::may_run() const {
  const Stage& stage = stages_[0];
  return !collective_flows_ && stages_.size() == 1 && !shares_links(0) &&
         !(stage.collectives && stage.collectives->shared()) && !stage.devices->waits_for_memory();
}

// As many steps as are valid, and end before a device changes its speed. False: the next step is by itself,
// as other things may happen in it.
bool Server::plan_run(Iteration& iteration) {
  const Stage& stage = stages_[0];
  run_.start(now());
  if (!may_run()) return false;
  const std::int64_t valid = fast_forward_ ? replica_.longest_run(iteration) : 1;
  if (valid > 1) {
    run_.plan(*stage.model, iteration.work(), valid, stage.devices->pace());
    if (stage.devices->may_change()) run_.end_by(stage.devices->next_change());
    return run_.steps() > 0;
  }
  if (!in_kernel_ || stage.devices->may_change() || stage.collectives) return false;
  run_.plan_step(stage.model->step(iteration.work()));
  return true;
}

bool Server::begin_run(Iteration& iteration) {
  if (!plan_run(iteration)) return false;
  Lockstep& devices = *stages_[0].devices;
  Lockstep::Share share{devices.pace() * run_.time(), Seconds(0)};
  if (stages_[0].attending_unit >= 0)
    share.beside = devices.pace() * share_of(stages_[0], run_.total(run_.steps())).beside;
  in_run_ = sleeping_ = true;
  devices.begin_run(share, in_kernel_ ? &when_run_ends_ : nullptr);
  if (in_kernel_ && Alarm::outgrow_cache()) say_used(iteration);
  return true;
}

// False: the time limit came at this instant and committed it.
bool Server::end_run() {
  sleeping_ = false;
  stages_[0].devices->end_run();
  if (!std::exchange(in_run_, false)) return false;
  commit_run(pipe_[0].iteration, now(), run_.steps());
  return true;
}

void Server::wait_for_run() {
  if (in_kernel_) return wake_->acquire();
  stages_[0].devices->wait_for_run();
  end_run();
}

// SimGrid's kernel calls it when a run ends. Where nothing blocks it begins the next run too and the actor
// sleeps on: two switches of contexts and a semaphore would take a sixth of all time.
void Server::go_on() {
  if (cluster_.over()) return;
  if (end_run() && !cluster_.stopping()) {
    decided_ = decide();
    sleeping_ = !decided_;
    if (sleeping_) return;
    const bool computes = decided_->iteration.moves.empty() && !decided_->iteration.members.empty();
    if (computes && begin_run(decided_->iteration)) {
      decided_ = nullptr;
      return;
    }
  }
  wake_->release();
}

// Adds what go_on() will use; where there are several attention-data ranks, what the first one uses.
void Server::say_used(const Iteration& iteration) {
  WorkingSet& uses = stages_[0].devices->uses();
  uses.clear();
  stages_[0].devices->add_used(uses);
  uses.add(*this);
  uses.add(run_.pieces());
  uses.add(iteration);
  uses.add(iteration.members);
  uses.add(stages_[0]);
  replica_.all()[0]->add_used(uses);
  recorder_.add_used(stages_[0].device, uses);
}

void Server::commit_run(const Iteration& iteration, Seconds end, std::int64_t steps) {
  note(0, iteration, run_.began(), end, run_.total(steps), steps);
  replica_.complete(iteration, run_.began(), end, run_.pieces(), steps);
}

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
