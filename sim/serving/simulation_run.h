#pragma once
// One run: its cluster, replicas and router, and the clients that ask them. Shared by simulation.cpp, which
// builds and ends it, clients.cpp, tier_moves.cpp and standstill.cpp; used by nobody else.
#include <chrono>
#include <deque>
#include <exception>
#include <simgrid/s4u.hpp>

#include "sim/serving/handovers.h"
#include "sim/serving/neurons/neuron_starts.h"
#include "sim/serving/predictors.h"
#include "sim/serving/router.h"
#include "sim/serving/run_end.h"
#include "sim/serving/server/stages.h"
#include "sim/serving/session_clients.h"
#include "sim/serving/simulation.h"
#include "sim/serving/trace/decision_trace.h"

namespace weir {

class Simulation {
 public:
  Simulation(const Plan& plan, const RunOptions& options);
  RunResult run(simgrid::s4u::Engine& engine);

 private:
  std::unique_ptr<Replica> build_rank(const ReplicaPlan& plan, int number, int rank);
  std::vector<const Replica*> all_ranks() const;
  void build_replica(const ReplicaPlan& plan, const ReplicaPlace& place);
  void clients();
  void open_loop();
  void send(std::int32_t request);
  void submit(std::int32_t request);
  bool may_send() const;
  void submit_next();
  void send_held();
  void answer(std::int32_t request, Seconds seen);
  void finished(std::int32_t request);
  void forget_answers_under_way();
  void when(Seconds time, std::function<void()> what);
  void move(const KvMove& move, std::function<void()> arrived);
  void load(const KvMove& move, std::function<void()> arrived);
  void store(const KvMove& move);
  std::vector<std::shared_ptr<KvTier>> tiers_of(const ReplicaPlan& plan);
  bool stopping();
  void end_standstill();  // by an exception
  void stop();
  double share_done() const;
  void fail();  // remembers the exception being handled, and stops
  [[noreturn]] void rethrow() const;
  void charge(RunResult& result) const;
  void mark_lost();

  const Scenario& scenario_;
  const RunOptions& options_;
  Cluster cluster_;
  RunEnd end_;
  Recorder recorder_;
  std::optional<DecisionTrace> trace_;
  LinkTraffic traffic_{recorder_};
  CourierPool couriers_;
  std::vector<std::int32_t> positions_,
      positions_after_prompt_;  // of decode replicas: a request may be at two
  std::vector<std::unique_ptr<Server>> servers_;
  Predictors predictors_;
  NeuronStarts neuron_starts_;
  Router router_;
  Handovers handovers_;
  StepModels step_models_;
  std::vector<std::pair<KvTierSpec, std::shared_ptr<KvTier>>> shared_tiers_;
  std::vector<const DeviceSpec*> charged_;  // in the order of the recorder's devices
  simgrid::s4u::SemaphorePtr all_done_;
  Seconds over_{0};        // when the clients left
  std::int32_t next_ = 0;  // the next request to send
  std::int64_t owed_ = 0;  // closed loop: how many places are free
  std::int64_t in_flight_ = 0;
  std::deque<std::int32_t> held_;  // at the client, by max_in_flight
  bool submitting_ = false, have_left_ = false;
  std::optional<SessionClients> sessions_;  // where requests wait for others
  std::int64_t done_ = 0;
  double all_tokens_ = 0, rejected_tokens_ = 0;  // of output
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::int64_t ticks_ = 0;
  std::int64_t swaps_ = 0, stalled_ = 0;  // under way: swaps, and loads for which a server waits
  std::int64_t computed_then_ = 0, preempted_then_ = 0;  // steps, and preemptions before the last of them
  std::chrono::steady_clock::time_point last_progress_;
};

}  // namespace weir
