#include <algorithm>
#include <cmath>

#include "sim/app/output/bottleneck.h"
#include "sim/app/output/training/training_writers.h"
#include "sim/app/output/writers.h"

namespace weir {

extern const char* const built_commit;  // made by cmake/commit.cmake

namespace {

void add(Json& summary, const std::string& name, const Distribution& d) {
  const std::pair<const char*, double> statistics[] = {{"mean", d.mean}, {"median", d.median}, {"std", d.std},
                                                       {"p50", d.p50},   {"p90", d.p90},       {"p95", d.p95},
                                                       {"p99", d.p99}};
  for (const auto& [statistic, value] : statistics) summary[std::string(statistic) + "_" + name] = value;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Json classes_json(const std::vector<ClassMetrics>& classes) {
  Json list = Json::array();
  for (const ClassMetrics& one : classes) {
    Json& entry = list.emplace_back(Json{{"priority", one.priority}, {"completed", one.completed}});
    add(entry, "ttft_ms", one.ttft_ms);
    add(entry, "tpot_ms", one.tpot_ms);
  }
  return list;
}

Json units_json(const DeviceUsage& usage, Seconds duration) {
  Json units = Json::object();
  for (const UnitUsage& unit : usage.units)
    units[unit.name] = {{"busy_s", unit.busy.value()},
                        {"utilisation", share(unit.busy.value(), duration.value())}};
  return units;
}

Json prefetch_json(const PrefetchBytes& bytes) {
  return {{"fetched_bytes", bytes.fetched.value()},
          {"used_bytes", bytes.used.value()},
          {"evicted_bytes", bytes.evicted.value()},
          {"left_bytes", bytes.left.value()}};
}

Json profile_json(const ProfileSource& of, const std::vector<std::string>& analytic_layers) {
  return {{"engine", of.engine},
          {"gpu", of.gpu},
          {"tp", of.tp},
          {"source", of.source},
          {"analytic_layers", analytic_layers}};
}

Json device_json(const DeviceUsage& usage, Seconds duration) {
  const double memory_rate = share(usage.memory.value(), duration.value());
  const double link_rate = share(usage.link.value(), duration.value());
  Json device = {
      {"name", usage.name},
      {"kind", usage.kind},
      {"devices", usage.devices},
      {"busy_s", usage.busy.value()},
      {"utilisation", share(usage.busy.value(), duration.value())},
      {"compute_bound_s", usage.compute_bound.value()},
      {"memory_bound_s", usage.memory_bound.value()},
      {"link_bound_s", usage.link_bound.value()},
      {"host_bound_s", usage.host_bound.value()},
      {"units", units_json(usage, duration)},
      {"flops_utilisation", share(share(usage.flops.value(), duration.value()), usage.peak.value())},
      {"memory_gb_per_s", memory_rate / 1e9},
      {"memory_bandwidth_utilisation", share(memory_rate, usage.memory_bandwidth.value())},
      {"link_gb_per_s", link_rate / 1e9},
      {"link_bandwidth_utilisation", share(link_rate, usage.link_bandwidth.value())},
      {"energy_j", usage.energy.value()},
      {"cost_dollars", usage.cost_dollars},
      {"die_mm2", usage.die_mm2 ? Json(*usage.die_mm2) : Json(nullptr)}};
  if (!usage.kernels.empty()) device["kernels"] = usage.kernels;
  if (usage.profile) device["profile"] = profile_json(*usage.profile, usage.analytic_layers);
  if (!usage.energy_note.empty()) device["energy_note"] = usage.energy_note;
  if (!usage.host_memory.empty()) device["host_memory"] = usage.host_memory;
  if (usage.prefetch.fetched > Bytes(0)) device["prefetch"] = prefetch_json(usage.prefetch);
  return device;
}

Json devices_json(const RunResult& result, Seconds duration) {
  Json devices = Json::array();
  for (const DeviceUsage& usage : result.devices) devices.push_back(device_json(usage, duration));
  return devices;
}

// Flows alone cross these links: KV transfers, activations between stages, swapping.
Json links_json(const RunResult& result, Seconds duration) {
  Json links = Json::array();
  for (const LinkUsage& link : result.links) {
    const double rate = share(link.carried.value(), duration.value());
    links.push_back({{"name", link.name},
                     {"carried_gb", link.carried.value() / 1e9},
                     {"gb_per_s", rate / 1e9},
                     {"utilisation", share(rate, link.bandwidth.value())}});
  }
  return links;
}

Json cost_json(const Metrics& m) {
  const double per_token = m.output_tokens > 0 ? m.cost_dollars / static_cast<double>(m.output_tokens) : 0;
  return {{"dollars", m.cost_dollars},
          {"dollars_per_hour", m.dollars_per_hour},
          {"device_hours", m.device_hours},
          {"dollars_per_million_output_tokens", m.output_tokens > 0 ? Json(per_token * 1e6) : Json(nullptr)}};
}

Json kv_cache_json(const FinishedRun& run) {
  const RunResult& r = run.result;
  return {{"block_tokens", r.kv_block_tokens},
          {"blocks", r.kv_blocks_total},
          {"peak_blocks", r.kv_blocks_peak},
          {"peak", share(static_cast<double>(r.kv_blocks_peak), static_cast<double>(r.kv_blocks_total))},
          {"preemptions", r.preemptions},
          {"limited_s", r.kv_limited.value()}};
}

// One of each group of alike replicas.
Json replicas_json(const Plan& plan) {
  Json list = Json::array();
  for (const ReplicaPlan& replica : plan.replicas) {
    const RankMemory& memory = replica.memory;
    const std::optional<double> most = memory.max_concurrency();
    const auto whole = [](Bytes bytes) { return std::llround(bytes.value()); };
    list.push_back({{"count", replica.spec.count},
                    {"memory",
                     {{"weights_bytes", whole(memory.weights)},
                      {"activation_bytes", whole(memory.activations)},
                      {"request_state_bytes", whole(memory.kept_by_requests)},
                      {"kv_bytes_per_token", memory.kv_per_token.value()},
                      {"kv_cache_bytes", whole(memory.kv_cache())},
                      {"kv_cache_tokens", memory.kv_tokens},
                      {"max_model_len", memory.longest > 0 ? Json(memory.longest) : Json(nullptr)},
                      {"max_concurrency", most ? Json(*most) : Json(nullptr)}}}});
  }
  return list;
}

// Gives one operation's error as the mean over the replicas that predicted any.
Json prediction_error(const RunResult& run, std::optional<double> PredictionErrors::*operation) {
  double sum = 0;
  int replicas = 0;
  for (const PredictionErrors& errors : run.predictions)
    if (const std::optional<double>& error = errors.*operation) sum += *error, ++replicas;
  return replicas > 0 ? Json(sum / replicas) : Json(nullptr);
}

Json neurons_json(const NeuronTotals& totals) {
  const PredictionCounts& all = totals.predictions;
  const auto or_null = [](const std::optional<double>& share) {
    return share ? Json(*share) : Json(nullptr);
  };
  return {{"accuracy", or_null(all.accuracy())},          {"recall", or_null(all.recall())},
          {"precision", or_null(all.precision())},        {"swapped_gb", totals.swapped.value() / 1e9},
          {"remapped_gb", totals.remapped.value() / 1e9}, {"placement_gap", totals.gap}};
}

// Where the prompts' tokens came from: every one is counted once.
Json prefix_cache_json(const Metrics& m, const FinishedRun& run) {
  Json json = {{"prompt_tokens", m.input_tokens},
               {"computed_tokens", m.computed_tokens()},
               {"local_hit_tokens", m.found_tokens}};
  if (!m.tier_tokens.empty()) json["tier_hit_tokens"] = m.tier_tokens;
  const auto takes_over = [](const ReplicaPlan& replica) { return replica.spec.role == Role::decode; };
  if (std::ranges::any_of(run.plan.replicas, takes_over))
    json["not_sent_tokens"] = run.result.not_sent_tokens;
  return json;
}

Json speculative_json(const DraftCounts& drafts) {
  const std::optional<double> length = drafts.length();
  return {{"acceptance_length", length ? Json(*length) : Json(nullptr)},
          {"decodes", drafts.decodes},
          {"draft_tokens", drafts.drafted},
          {"accepted_tokens", drafts.accepted}};
}

bool speculates(const Plan& plan) {
  return std::ranges::any_of(plan.replicas,
                             [](const ReplicaPlan& replica) { return replica.spec.speculative != nullptr; });
}

// vLLM writes "inf" for a rate without end; JSON has no such number.
Json vllm_rate(const std::optional<double>& rate) {
  if (!rate) return nullptr;
  return std::isinf(*rate) ? Json("inf") : Json(*rate);
}

// The load that was asked of the server, under the names of vLLM's benchmark.
void add_benchmark(Json& s, const Scenario& scenario, const Metrics& m) {
  const Workload& workload = scenario.workload;
  s["model_id"] = scenario.model.name;
  s["num_prompts"] = m.requests;
  s["request_rate"] = vllm_rate(workload.traffic.request_rate);
  s["burstiness"] = vllm_rate(workload.traffic.burstiness);
  s["max_concurrency"] = workload.closed_loop     ? Json(workload.closed_loop->concurrency)
                         : workload.max_in_flight ? Json(*workload.max_in_flight)
                                                  : Json(nullptr);
}

// One where all replicas run the same, otherwise a list.
Json engines_json(const Plan& plan) {
  Json engines = Json::array();
  for (const ReplicaPlan& replica : plan.replicas) {
    const EngineOverhead& engine = replica.spec.engine;
    const Json one = {{"kind", engine.kind},
                      {"version", engine.version.empty() ? Json(nullptr) : Json(engine.version)}};
    if (std::ranges::find(engines, one) == engines.end()) engines.push_back(one);
  }
  return engines.size() == 1 ? engines[0] : engines;
}

}  // namespace

Json headline(const Json& summary) {
  Json chosen = Json::object();
  for (const auto& [name, value] : summary.items())
    if (name == "duration" || name.ends_with("_throughput") || name.ends_with("_ms")) chosen[name] = value;
  return chosen;
}

Json summary_json(const FinishedRun& run) {
  const Metrics& m = run.metrics;
  Json s;
  s["name"] = run.plan.scenario.name;
  s["version"] = WEIR_VERSION;
  s["commit"] = built_commit;
  s["engine"] = engines_json(run.plan);
  add_benchmark(s, run.plan.scenario, m);
  s["duration"] = m.duration.value();
  s["completed"] = m.completed;
  s["failed"] = m.rejected + m.lost + m.unfinished;
  s["rejected"] = m.rejected;
  s["unfinished"] = m.unfinished;
  if (run.result.stopped) s["lost"] = m.lost;
  s["total_input_tokens"] = m.input_tokens;
  s["total_output_tokens"] = m.output_tokens;
  s["request_throughput"] = m.request_throughput;
  s["request_goodput"] = m.goodput ? Json(*m.goodput) : Json(nullptr);
  s["output_throughput"] = m.output_throughput;
  s["total_token_throughput"] = m.total_throughput;
  add(s, "ttft_ms", m.ttft_ms);
  add(s, "tpot_ms", m.tpot_ms);
  add(s, "itl_ms", m.itl_ms);
  add(s, "e2el_ms", m.e2el_ms);
  if (!m.classes.empty()) s["classes"] = classes_json(m.classes);
  if (m.sessions) {
    s["sessions"] = {{"count", m.sessions->count}, {"completed", m.sessions->time_to_complete_ms.count}};
    add(s["sessions"], "time_to_complete_ms", m.sessions->time_to_complete_ms);
  }
  s["devices"] = devices_json(run.result, m.duration);
  s["links"] = links_json(run.result, m.duration);
  s["energy_j"] = m.energy.value();
  if (!m.energy_note.empty()) s["energy_note"] = m.energy_note;
  s["output_tokens_per_joule"] = share(static_cast<double>(m.output_tokens), m.energy.value());
  s["cost"] = cost_json(m);
  s["kv_cache"] = kv_cache_json(run);
  s["replicas"] = replicas_json(run.plan);
  if (run.plan.scenario.workload.contents.shared() || !m.tier_tokens.empty())
    s["prefix_cache"] = prefix_cache_json(m, run);
  if (!run.result.predictions.empty())
    s["prediction_error_percent"] = {
        {"prefill_attention", prediction_error(run.result, &PredictionErrors::prefill_attention)},
        {"batched", prediction_error(run.result, &PredictionErrors::batched)},
        {"offloaded", prediction_error(run.result, &PredictionErrors::offloaded)},
        {"decode_attention", prediction_error(run.result, &PredictionErrors::decode_attention)}};
  if (speculates(run.plan)) s["speculative"] = speculative_json(run.result.drafts);
  if (const ExpertCounts& experts = run.result.experts; experts.steps > 0)
    s["experts"] = {{"imbalance", experts.imbalance / experts.steps}};
  if (run.result.neurons) s["neurons"] = neurons_json(*run.result.neurons);
  const BeyondContext beyond = beyond_context(run.plan.scenario);
  s["beyond_context"] = {{"requests", beyond.requests},
                         {"longest", beyond.requests > 0 ? Json(beyond.longest) : Json(nullptr)},
                         {"positions", run.plan.scenario.model.positions}};
  if (run.training) {
    const Json* alone = run.training->served_alone;
    s["training"] = training_jobs_json(*run.training);
    s["without_training"] = alone && !alone->is_null() ? *alone : headline(s);
    s["lost_to_training_s"] = run.result.lost_to_others.value();
  }
  s["iterations"] = run.result.iterations;
  s["simulated_s"] = run.result.end.value();
  const Bottleneck bottleneck = find_bottleneck(run.plan.scenario, run.result, m);
  s["bound"] = {{"by", bottleneck.by}, {"reason", bottleneck.reason}};
  s["notes"] = run.plan.scenario.notes;
  for (const std::string& note : run.result.notes) s["notes"].push_back(note);
  s["scenario"] = run.plan.scenario.resolved;
  return s;
}

}  // namespace weir
