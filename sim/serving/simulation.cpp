#include "sim/serving/simulation.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include "devices/actor/alarm.h"
#include "devices/actor/clock.h"
#include "sim/serving/handovers.h"
#include "sim/serving/neurons/neuron_starts.h"
#include "sim/serving/platform/engine.h"
#include "sim/serving/predictors.h"
#include "sim/serving/router.h"
#include "sim/serving/run_end.h"
#include "sim/serving/server/stages.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

class Simulation {
 public:
  Simulation(const Plan& plan, const RunOptions& options);
  RunResult run(sg4::Engine& engine);

 private:
  void build_replica(const ReplicaPlan& plan, const ReplicaPlace& place);
  void clients();
  void open_loop();
  void send(std::int32_t request);
  void submit(std::int32_t request);
  bool may_send() const;
  void submit_next();
  void answer(Seconds seen);
  void finished();
  void forget_answers_under_way();
  void when(Seconds time, std::function<void()> what);
  void move(const KvMove& move, std::function<void()> arrived);
  bool stopping();
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
  std::vector<const DeviceSpec*> charged_;  // in the order of the recorder's devices
  sg4::SemaphorePtr all_done_;
  Seconds over_{0};        // when the clients left
  std::int32_t next_ = 0;  // the next request to send
  std::int64_t owed_ = 0;  // closed loop: how many places are free
  bool submitting_ = false, have_left_ = false;
  std::int64_t done_ = 0;
  double all_tokens_ = 0, rejected_tokens_ = 0;  // of output
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::int64_t ticks_ = 0;
  std::chrono::steady_clock::time_point last_progress_;
};

Simulation::Simulation(const Plan& plan, const RunOptions& options)
    : scenario_(plan.scenario),
      options_(options),
      cluster_(scenario_, options.others != nullptr),
      end_(end_of(plan, cluster_)),
      recorder_(scenario_.workload, scenario_.sample_period, options.timeline),
      couriers_(cluster_.node(0), traffic_, [this] { fail(); }),
      positions_(scenario_.workload.requests.size(), -1),
      positions_after_prompt_(positions_),
      router_(*scenario_.routing),
      handovers_(scenario_, servers_, router_, couriers_, recorder_),
      all_done_(sg4::Semaphore::create(0)) {
  if (options.token_gaps) recorder_.keep_token_gaps();
  for (const Request& r : scenario_.workload.requests) all_tokens_ += static_cast<double>(r.output_tokens);
  for (const ReplicaPlan& replica : plan.replicas)
    for (const ReplicaPlace& place : replica.places) build_replica(replica, place);
}

void Simulation::build_replica(const ReplicaPlan& plan, const ReplicaPlace& place) {
  const auto index = servers_.size();
  const int number = static_cast<int>(index);
  auto replica = std::make_unique<Replica>(
      number, plan, plan.spec.role == Role::decode ? positions_after_prompt_ : positions_, recorder_,
      Replica::Events{
          .finished =
              [this, number](std::int32_t request) {
                router_.changed(number);
                answer(recorder_.record(request).finished);
              },
          .hand_over = [this, number](std::int32_t request) { handovers_.prompt_ends(request, number); },
          .prompt_begins = [this,
                            number](std::int32_t request) { handovers_.prompt_begins(request, number); },
          .prompt_lost = [this](std::int32_t request) { handovers_.prompt_lost(request); }});
  replica->expect(predictors_.times_for(plan));
  if (plan.neurons) replica->follow(neuron_starts_.tables_for(plan, recorder_.result()));
  charged_.insert(charged_.end(), place.size(), &plan.rank.on->spec());
  servers_.push_back(std::make_unique<Server>(
      std::move(replica),
      build_stages(scenario_, plan, place, fmt::format("replica {}", index), cluster_, recorder_,
                   step_models_),
      scenario_.fast_forward, scenario_.collective_flows, recorder_,
      Server::Cluster{
          .stopping = [this] { return stopping(); },
          .failed = [this] { fail(); },
          .move = [this](const KvMove& m, std::function<void()> arrived) { move(m, std::move(arrived)); },
          .traffic = &traffic_,
          .flows_cross_links = cluster_.has_links(),
          .shared = options_.others != nullptr,
          .layerwise = plan.spec.hands_over_layerwise() ? &handovers_ : nullptr}));
  router_.add(*servers_.back());
}

// By the device that ended the run.
void Simulation::mark_lost() {
  for (RequestRecord& record : recorder_.result().requests)
    if (record.status == RequestStatus::unfinished && std::ranges::count(end_.replicas, record.replica) > 0)
      record.status = RequestStatus::lost;
}

// Timers of clients, unless these have left.
void Simulation::when(Seconds time, std::function<void()> what) {
  if (time <= now()) return what();
  call_at(time, [this, what = std::move(what)] {
    if (stopping_ || have_left_) return;
    try {
      what();
    } catch (const std::exception&) {
      fail();
    }
  });
}

void Simulation::send(std::int32_t request) {
  if (scenario_.workload.closed_loop) recorder_.record(request).request.arrival = now();
  if (request == scenario_.workload.warmup_requests) recorder_.measure_from(now());
  when(now() + recorder_.reply(), [this, request] { submit(request); });
}

void Simulation::submit(std::int32_t request) {
  RequestRecord& record = recorder_.record(request);
  Server* server = router_.for_prompt(record.request);
  if (!server) {
    record.status = RequestStatus::rejected;
    rejected_tokens_ += static_cast<double>(record.request.output_tokens);
    answer(now() + recorder_.reply());
    return;
  }
  if (scenario_.workload.in_generation)
    server->submit_in_generation(request);
  else
    server->submit(request);
  router_.changed(server->replica().index());
}

bool Simulation::may_send() const {
  if (next_ == static_cast<std::int32_t>(positions_.size())) return false;
  const std::int64_t warmup = scenario_.workload.warmup_requests;
  return !scenario_.workload.closed_loop->restart_after_warmup || next_ != warmup || done_ == warmup;
}

// A rejected request may free its place at once: a loop, not a recursion as deep as the trace.
void Simulation::submit_next() {
  ++owed_;
  if (submitting_) return;
  submitting_ = true;
  for (; owed_ > 0 && may_send(); --owed_) send(next_++);
  submitting_ = false;
}

// The client has all of it then.
void Simulation::answer(Seconds seen) {
  when(seen, [this] { finished(); });
}

void Simulation::finished() {
  ++done_;
  if (scenario_.workload.closed_loop) submit_next();
  if (done_ == static_cast<std::int64_t>(positions_.size())) all_done_->release();
}

void Simulation::move(const KvMove& m, std::function<void()> arrived) {
  if (m.hands_over()) return handovers_.start(m, std::move(arrived));
  const Server& server = *servers_[static_cast<std::size_t>(m.to.replica)];
  const std::vector<LinkFlow> flows = host_flows(server.stages(), m.tokens, m.to.in_host);
  arrived ? couriers_.send(flows, std::move(arrived)) : transfer_and_wait(flows, traffic_);
}

// Tokens that the clients have not seen when they leave have not been.
void Simulation::forget_answers_under_way() {
  for (RequestRecord& record : recorder_.result().requests) {
    if (record.first_token > now()) record.first_token = Seconds(-1);
    if (record.finished <= now()) continue;
    record.finished = Seconds(-1);
    record.status = RequestStatus::unfinished;
  }
}

double Simulation::share_done() const {
  const double tokens = (recorder_.generated() + rejected_tokens_) / std::max(1.0, all_tokens_);
  return std::min(1.0, end_.at ? std::max(tokens, now() / *end_.at) : tokens);
}

bool Simulation::stopping() {
  const std::int64_t between = scenario_.collective_flows ? 7 : 1023;  // a step of flows takes milliseconds
  if ((++ticks_ & between) == 0) {
    if (options_.interrupted && options_.interrupted->load()) stop();
    const auto wall = std::chrono::steady_clock::now();
    if (options_.progress && wall - last_progress_ > std::chrono::milliseconds(100)) {
      last_progress_ = wall;
      options_.progress(
          {static_cast<double>(done_), static_cast<double>(positions_.size()), now(), share_done()});
    }
  }
  return stopping_;
}

void Simulation::stop() {
  if (stopping_) return;
  stopping_ = true;
  all_done_->release();
}

void Simulation::fail() {
  if (!failure_) failure_ = std::current_exception();
  stop();
}

void Simulation::charge(RunResult& result) const {
  const Seconds window = result.end - result.start;
  for (std::size_t i = 0; i < charged_.size(); ++i) {
    DeviceUsage& usage = result.devices[i];
    const DeviceSpec& spec = *charged_[i];
    // The joules that kernels drew above these are there already.
    usage.energy += usage.devices * (spec.power.idle * window + spec.power.active * usage.busy);
    usage.dollars_per_hour = usage.devices * spec.dollars_per_hour;
    usage.cost_dollars = usage.dollars_per_hour * window.value() / 3600;
  }
}

// By a timer of SimGrid's kernel for each arrival, which costs a third of an actor's sleep.
void Simulation::open_loop() try {
  const auto& requests = scenario_.workload.requests;
  const auto count = static_cast<std::int32_t>(requests.size());
  const auto next = [&] { return requests[static_cast<std::size_t>(next_)].arrival; };
  while (next_ < count && next() <= now() && !stopping()) send(next_++);
  if (next_ == count || stopping_ || (end_.at && next() > *end_.at)) return;
  simgrid::kernel::timer::Timer::set(next().value(), [this] { open_loop(); });
} catch (const std::exception&) {
  fail();
}

void Simulation::clients() {
  last_progress_ = std::chrono::steady_clock::now();
  if (const auto& closed = scenario_.workload.closed_loop) {
    for (std::int64_t i = 0; i < closed->concurrency; ++i) submit_next();
  } else {
    open_loop();
  }
  const Seconds left = end_.at.value_or(Seconds(0)) - now();
  const bool timed_out = !end_.at             ? (all_done_->acquire(), false)
                         : left <= Seconds(0) ? true
                                              : all_done_->acquire_timeout(left.value());
  RunResult& result = recorder_.result();
  result.out_of_time = timed_out;
  result.interrupted = stopping_;
  over_ = now();
  have_left_ = true;
  traffic_.stop_recording();
  if (timed_out)
    for (const auto& server : servers_) server->commit_until(now());
  if (timed_out || stopping_) forget_answers_under_way();
  if (timed_out && end_.stopped) {
    result.stopped = end_.stopped;
    mark_lost();
  }
}

void Simulation::rethrow() const try {
  std::rethrow_exception(failure_);
} catch (const ConfigError& e) {  // of a key whose value only the run could tell to be wrong
  throw ConfigError(scenario_.file, e.problems());
}

RunResult Simulation::run(sg4::Engine& engine) {
  sg4::Actor::create("clients", cluster_.node(0), [this] {
    try {
      clients();
    } catch (const std::exception&) {
      fail();
    }
  });
  for (const auto& server : servers_) server->start();
  if (options_.others) options_.others(cluster_, traffic_);
  engine.run();
  if (failure_) rethrow();
  RunResult& result = recorder_.result();
  Seconds end(0);
  for (const RequestRecord& r : result.requests) end = std::max({end, r.finished, r.first_token});
  predictors_.tell(result);
  for (const auto& server : servers_) {
    const KvCache& cache = server->replica().cache();
    if (cache.used() != 0 && !result.out_of_time && !result.interrupted)
      throw std::logic_error(fmt::format("{} KV blocks are held when nothing runs", cache.used()));
    if (cache.total() > 0 && cache.peak() * std::max<std::int64_t>(1, result.kv_blocks_total) >=
                                 result.kv_blocks_peak * cache.total()) {
      result.kv_blocks_total = cache.total();
      result.kv_blocks_peak = cache.peak();
      result.kv_block_tokens = cache.block_tokens();
    }
  }
  RunResult finished = recorder_.finish(result.out_of_time ? over_ : end);
  finished.events = ticks_;
  const Activities asked = activities();
  finished.actors = asked.actors;
  finished.hosts = static_cast<std::int64_t>(engine.get_host_count());
  finished.activities = asked.executions + asked.flows;
  charge(finished);
  return finished;
}

}  // namespace

RunResult simulate(const Plan& plan, const RunOptions& options) {
  const auto engine = make_engine();
  Simulation simulation(plan, options);
  return simulation.run(*engine);
}

}  // namespace weir
