#include <algorithm>
#include <cmath>

#include "sim/app/output/bottleneck.h"
#include "sim/app/output/rows/metric_rows.h"
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
  write_metrics(s, run);
  if (!m.classes.empty()) s["classes"] = classes_json(m.classes);
  s["devices"] = devices_json(run.result, m.duration);
  s["links"] = links_json(run.result, m.duration);
  if (!m.energy_note.empty()) s["energy_note"] = m.energy_note;
  s["replicas"] = replicas_json(run.plan);
  if (run.training) {
    const Json* alone = run.training->served_alone;
    s["training"] = training_jobs_json(*run.training);
    s["without_training"] = alone && !alone->is_null() ? *alone : headline(s);
  }
  const Bottleneck bottleneck = find_bottleneck(run.plan.scenario, run.result, m);
  s["bound"] = {{"by", bottleneck.by}, {"reason", bottleneck.reason}};
  s["notes"] = run.plan.scenario.notes;
  for (const std::string& note : run.result.notes) s["notes"].push_back(note);
  s["scenario"] = run.plan.scenario.resolved;
  return s;
}

}  // namespace weir
