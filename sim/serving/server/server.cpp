#include "sim/serving/server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <utility>

#include "devices/actor/alarm.h"
#include "devices/actor/clock.h"
#include "sim/serving/handovers.h"
#include "sim/serving/server/stages.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

constexpr Seconds clock_noise(1e-9);  // of sums of times

// Over every link that its steps may draw from.
std::vector<LinkFlow> any_step_flows(const Server::Stage& stage) {
  StepCost cost;
  for (const auto& [resource, link] : stage.links) cost.moved[resource] = Bytes(1);
  return step_flows(stage, cost);
}

}  // namespace

Server::Server(AttentionRanks ranks, std::vector<Stage> stages, bool fast_forward, bool collective_flows,
               Recorder& recorder, Cluster cluster)
    : replica_(std::move(ranks)),
      stages_(std::move(stages)),
      fast_forward_(fast_forward),
      collective_flows_(collective_flows),
      in_kernel_(keeps_kv_caches(replica_.plan().spec)),
      recorder_(recorder),
      cluster_(std::move(cluster)),
      wake_(sg4::Semaphore::create(0)),
      pipe_(stages_.size()),
      inboxes_(stages_.size()),
      drawn_(stages_.size()) {
  when_run_ends_ = [this] { guard([this] { go_on(); }); };
  for (Stage& stage : stages_) {
    if (!cluster_.shared)
      std::erase_if(stage.links, [](const auto& link) { return link.second == ClusterLink::host_memory; });
    else if (!stage.links.empty())
      stage.beside = cluster_.traffic->add_group(
          any_step_flows(stage),
          [this] {
            if (in_run_) wake();
          },
          LinkTraffic::Of::steps);
  }
  if (collective_flows_ || !cluster_.flows_cross_links) return;
  for (Stage& stage : stages_)
    if (stage.ranks.size() > 1)
      stage.collectives = std::make_unique<StageCollectives>(replica_.plan().rank, stage.model, stage.ranks,
                                                             *cluster_.traffic, [this] {
                                                               if (in_run_) wake();
                                                             });
}

void Server::start() {
  const auto name = [this](std::size_t stage) {
    return fmt::format("replica {} stage {}", replica_.index(), stage);
  };
  for (std::size_t s = 1; s < stages_.size(); ++s) {
    inboxes_[s].ready = sg4::Semaphore::create(0);
    inboxes_[s].from_previous =
        std::make_unique<Courier>(name(s) + " in", stages_[s - 1].ranks[0], Courier::Carries::activations,
                                  *cluster_.traffic, cluster_.failed);
    sg4::Actor::create(name(s), stages_[s].ranks[0], [this, s] {
      guard([this, s] { serve_stage(s); });
    })->daemonize();
  }
  for (const Stage& stage : stages_) stage.devices->start();
  sg4::Actor::create(name(0), stages_[0].ranks[0], [this] { guard([this] { serve(); }); })->daemonize();
}

// An exception must not leave an actor: SimGrid would end the process.
void Server::guard(const std::function<void()>& body) const {
  try {
    body();
  } catch (const std::exception&) {
    cluster_.failed();
  }
}

void Server::wait() {
  sleeping_ = true;
  wake_->acquire();
}

void Server::wake() {
  if (!std::exchange(sleeping_, false)) return;
  if (in_run_)
    cut_run(0);
  else
    wake_->release();
}

void Server::stored(const KvMove& move) {
  replica_.of(move.request).stored(move);
}

void Server::wake_if_anyone_waits() {
  if (std::ranges::any_of(replica_.all(), [](const auto& rank) { return rank->anyone_waits(); })) wake();
}

void Server::submit(std::int32_t request) {
  Replica& rank = replica_.assign(request);
  if (!rank.accept(request, now())) return;
  const Seconds passed = rank.front_end().passes(now(), recorder_.record(request).request.input_tokens);
  in_front_end_.emplace(passed, request);
  call_at(
      passed, [this] { guard([this] { reach_scheduler(); }); }, &stages_[0].devices->uses());
}

// Alarms of one instant come in any order; requests in theirs.
void Server::reach_scheduler() {
  const std::int32_t request = in_front_end_.extract(in_front_end_.begin()).mapped();
  Replica& rank = replica_.of(request);
  rank.enqueue_accepted(request, now(), steps_over());
  wake_for_arrival(rank);
}

void Server::submit_in_generation(std::int32_t request) {
  Replica& rank = replica_.assign(request);
  if (rank.enqueue_in_generation(request, now())) wake_for_arrival(rank);
}

void Server::submit_handover(std::int32_t request, int from_replica) {
  Replica& rank = replica_.assign(request);
  rank.enqueue_handover(request, from_replica, now(), steps_over());
  wake_for_arrival(rank);
}

// A run goes on unless the arrival may end it, and until that is seen.
void Server::wake_for_arrival(const Replica& rank) {
  if (!in_run_ || (rank.sees_at_once() && rank.arrival_matters()))
    wake();
  else if (sleeping_ && rank.arrival_matters())
    cut_run(rank.steps_unseen(steps_over()));
}

void Server::start_moves(const Iteration& iteration) {
  for (const KvMove& move : iteration.moves) {
    if (move.before_step()) {
      cluster_.move(move, nullptr);
      continue;
    }
    ++moves_under_way_;
    cluster_.move(move, [this, move] {
      --moves_under_way_;
      replica_.of(move.request).arrived(move, now());
      wake();
    });
  }
}

bool Server::beside_others(const Stage& stage) const {
  return (stage.beside && cluster_.traffic->beside_others(*stage.beside)) ||
         (stage.collectives && stage.collectives->beside_others());
}

// In a pipeline, moves begin while the other stages compute.
bool Server::shares_links(std::size_t stage) const {
  if (stages_[stage].links.empty()) return false;
  if (beside_others(stages_[stage])) return true;
  return moves_under_way_ > 0 || (stages_.size() > 1 && replica_.plan().spec.batching->moves_kv_caches());
}

// Null: there is nothing to do, or no place in the pipeline.
Server::InPipe* Server::decide() {
  const auto slot = std::find_if(pipe_.begin(), pipe_.end(), [](const InPipe& p) { return !p.used; });
  return slot != pipe_.end() && replica_.schedule(now(), slot->iteration) ? &*slot : nullptr;
}

void Server::serve() {
  while (!cluster_.stopping()) {
    InPipe* slot = std::exchange(decided_, nullptr);
    if (!slot) slot = decide();
    if (!slot) {
      wait();
      continue;
    }
    Iteration& iteration = slot->iteration;
    start_moves(iteration);
    if (iteration.members.empty()) continue;
    if (stages_.size() == 1) {
      run_alone(iteration);
      continue;
    }
    slot->used = true;
    slot->start = now();
    occupy(0, iteration);
    forward(0, &iteration);
  }
}

void Server::run_alone(Iteration& iteration) {
  if (begin_run(iteration)) return wait_for_run();
  occupy(0, iteration);
  replica_.complete(iteration, run_.began(), now(), run_.pieces(), 1);
}

Lockstep::Share Server::share_of(const Server::Stage& stage, const StepCost& cost) {
  const int unit = stage.attending_unit;
  return {cost.time, unit < 0 ? Seconds(0) : cost.busy[static_cast<std::size_t>(unit)]};
}

// Time beyond `cost`, because devices are slow or links are shared, is added there.
void Server::execute(Stage& stage, const BatchShape& batch, StepCost& cost) {
  const Seconds start = now(), expected = cost.time;
  if (stage.collectives && expected > Seconds(0))
    stage.collectives->play(*stage.devices, share_of(stage, cost), batch, cost);
  else
    stage.devices->execute(share_of(stage, cost));
  if (stage.devices->may_change() && expected > Seconds(0)) cost.stretch((now() - start) / expected);
}

void Server::occupy(std::size_t stage, const Iteration& iteration) {
  const Seconds start = now();
  ++occupied_;
  StepCost cost = stages_[stage].model->step(iteration.work());
  const Seconds alone = cost.time;
  if (cluster_.layerwise)
    cluster_.layerwise->step_begins(stage, iteration, cost.time / stages_[stage].devices->pace());
  std::vector<LinkFlow> shared;
  if (shares_links(stage)) shared = step_flows(stages_[stage], cost);
  Sending beside(shared);
  execute(stages_[stage], iteration.shape, cost);
  beside.wait(nullptr);
  if (const Seconds late = now() - start - cost.time; !shared.empty() && late > Seconds(0)) {
    cost.time += late;
    cost.link_bound += late;
  }
  if (beside_others(stages_[stage]) && cost.time > alone + clock_noise)
    recorder_.lost_to_others(cost.time - alone);
  if (collective_flows_)
    play_as_flows(replica_.plan().rank, *stages_[stage].model, stages_[stage].ranks, iteration.shape,
                  *cluster_.traffic, cost);
  --occupied_;
  if (cluster_.layerwise) cluster_.layerwise->step_ends(stage, iteration);
  note(stage, iteration, start, now(), cost, 1);
}

void Server::forward(std::size_t stage, Iteration* iteration) {
  const auto slot =
      std::find_if(pipe_.begin(), pipe_.end(), [&](InPipe& p) { return &p.iteration == iteration; });
  if (stage + 1 == stages_.size()) {
    replica_.complete(slot->iteration, slot->start, now(), run_.pieces(), 1);  // where the scheduler may wake
    slot->used = false;
    wake();
    return;
  }
  Inbox& inbox = inboxes_[stage + 1];
  inbox.from_previous->send(activation_flows(stages_[stage], stages_[stage + 1], iteration->shape.tokens()),
                            [&inbox, in_pipe = &*slot] {
                              inbox.arrived.push_back(in_pipe);
                              inbox.ready->release();
                            });
}

void Server::serve_stage(std::size_t stage) {
  Inbox& inbox = inboxes_[stage];
  while (true) {
    inbox.ready->acquire();
    InPipe* in_pipe = inbox.arrived.front();
    inbox.arrived.pop_front();
    occupy(stage, in_pipe->iteration);
    forward(stage, &in_pipe->iteration);
  }
}

}  // namespace weir
