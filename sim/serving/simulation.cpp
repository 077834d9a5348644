#include "sim/serving/simulation.h"

#include <fmt/format.h>

#include <map>

#include "devices/actor/clock.h"
#include "sim/serving/platform/engine.h"
#include "sim/serving/simulation_run.h"

namespace weir {
namespace sg4 = simgrid::s4u;

Simulation::Simulation(const Plan& plan, const RunOptions& options)
    : scenario_(plan.scenario),
      options_(options),
      cluster_(scenario_, options.others != nullptr),
      end_(end_of(plan, cluster_)),
      recorder_(scenario_.workload, scenario_.sample_period, options.timeline),
      couriers_(cluster_.node(0), traffic_, [this] { fail(); }),
      positions_(scenario_.workload.requests.size(), -1),
      positions_after_prompt_(positions_),
      router_(*scenario_.routing, scenario_.workload, scenario_.seed),
      handovers_(scenario_, servers_, router_, couriers_, recorder_),
      all_done_(sg4::Semaphore::create(0)) {
  if (options.trace) router_.tell(&trace_.emplace(*options.trace, positions_.size()));
  if (options.token_gaps) recorder_.keep_token_gaps();
  if (scenario_.workload.sessions)
    sessions_.emplace(
        scenario_.workload, [this](Seconds time, std::function<void()> what) { when(time, std::move(what)); },
        [this](std::int32_t request) { send(request); });
  for (const Request& r : scenario_.workload.requests) all_tokens_ += static_cast<double>(r.output_tokens);
  for (const ReplicaPlan& replica : plan.replicas)
    for (const ReplicaPlace& place : replica.places) build_replica(replica, place);
}

std::unique_ptr<Replica> Simulation::build_rank(const ReplicaPlan& plan, int number, int rank) {
  auto replica = std::make_unique<Replica>(
      number, plan, plan.spec.role == Role::decode ? positions_after_prompt_ : positions_, recorder_,
      Replica::Events{
          .finished =
              [this, number](std::int32_t request) {
                router_.ended(request, number);
                answer(request, recorder_.record(request).finished);
              },
          .hand_over = [this, number](std::int32_t request) { handovers_.prompt_ends(request, number); },
          .prompt_begins = [this,
                            number](std::int32_t request) { handovers_.prompt_begins(request, number); },
          .prompt_preempted = [this](std::int32_t request,
                                     bool lost) { handovers_.prompt_preempted(request, lost); },
          .store = [this](const KvMove& move) { store(move); }},
      scenario_.workload.contents, tiers_of(plan));
  replica->expect(predictors_.times_for(plan));
  replica->tell(router_.listener(*replica));
  if (trace_) replica->tell(trace_->listener(number, plan.spec.parallelism.attention_data > 1 ? rank : -1));
  if (plan.neurons) replica->follow(neuron_starts_.tables_for(plan, recorder_.result()));
  return replica;
}

void Simulation::build_replica(const ReplicaPlan& plan, const ReplicaPlace& place) {
  const auto index = servers_.size();
  const int number = static_cast<int>(index);
  std::vector<std::unique_ptr<Replica>> ranks;
  while (std::ssize(ranks) < plan.spec.parallelism.attention_data)
    ranks.push_back(build_rank(plan, number, static_cast<int>(ranks.size())));
  charged_.insert(charged_.end(), place.size(), &plan.rank.on->spec());
  servers_.push_back(std::make_unique<Server>(
      AttentionRanks(std::move(ranks), recorder_),
      build_stages(scenario_, plan, place, fmt::format("replica {}", index), cluster_, recorder_,
                   step_models_),
      scenario_.fast_forward, scenario_.collective_flows, recorder_,
      Server::Cluster{
          .stopping = [this] { return stopping(); },
          .over = [this] { return have_left_; },
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

void Simulation::move(const KvMove& m, std::function<void()> arrived) {
  if (m.hands_over()) return handovers_.start(m, std::move(arrived));
  if (!m.tiers.empty()) return load(m, std::move(arrived));
  const Server& server = *servers_[static_cast<std::size_t>(m.to.replica)];
  const std::vector<LinkFlow> flows = host_flows(kv_devices(server, m.request), m.tokens, m.to.in_host);
  if (!arrived) return transfer_and_wait(flows, traffic_);
  ++swaps_;
  couriers_.send(flows, [this, arrived = std::move(arrived)] {
    --swaps_;
    arrived();
  });
}

double Simulation::share_done() const {
  const double tokens = (recorder_.generated() + rejected_tokens_) / std::max(1.0, all_tokens_);
  return std::min(1.0, end_.at ? std::max(tokens, now() / *end_.at) : tokens);
}

bool Simulation::stopping() {
  const std::int64_t between = scenario_.collective_flows ? 7 : 1023;  // a step of flows takes milliseconds
  if ((++ticks_ & between) == 0) {
    end_standstill();
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

void Simulation::rethrow() const try {
  std::rethrow_exception(failure_);
} catch (const ConfigError& e) {  // of a key whose value only the run could tell to be wrong
  throw ConfigError(scenario_.file, e.problems());
}

std::vector<const Replica*> Simulation::all_ranks() const {
  std::vector<const Replica*> ranks;
  for (const auto& server : servers_)
    for (const auto& rank : server->replica().all()) ranks.push_back(rank.get());
  return ranks;
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
  for (const Replica* rank : all_ranks()) {
    const KvCache& cache = rank->cache();
    if (const std::int64_t held = rank->held_blocks();
        held != 0 && !result.out_of_time && !result.interrupted)
      throw std::logic_error(fmt::format("{} KV blocks are held when nothing runs", held));
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

RunResult simulate(const Plan& plan, const RunOptions& options) {
  const auto engine = make_engine();
  Simulation simulation(plan, options);
  return simulation.run(*engine);
}

}  // namespace weir
