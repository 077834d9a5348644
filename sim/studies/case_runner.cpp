#include "sim/studies/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/app/child_process.h"
#include "sim/app/output/metrics.h"
#include "sim/serving/simulation.h"

namespace weir {
namespace {

struct Utilisation {
  double flops = 0, memory = 0, pim = 0, watts = 0;
};

Utilisation utilisation(const RunResult& result) {
  Utilisation mean;
  const Seconds window = result.end - result.start;
  if (window <= Seconds(0)) return mean;
  const double share = 1 / static_cast<double>(result.devices.size());
  for (const DeviceUsage& device : result.devices) {
    mean.flops += share * (device.flops.value() / window.value() / device.peak.value());
    mean.memory += share * (device.memory / window / device.memory_bandwidth);
    mean.watts += share * device.energy.value() / device.devices / window.value();
    for (const UnitUsage& unit : device.units)
      if (unit.attends) mean.pim += share * (unit.busy / window);
  }
  return mean;
}

double mean_running(const RunResult& result) {
  double requests = 0;
  Seconds before = result.start;
  for (const Sample& sample : result.samples) {
    requests += sample.running * (sample.time - before).value();
    before = sample.time;
  }
  return before > result.start ? requests / (before - result.start).value() : 0;
}

std::map<std::string, double> busy_units(const RunResult& result) {
  std::map<std::string, double> busy;
  const double share = 1 / static_cast<double>(result.devices.size());
  for (const DeviceUsage& device : result.devices)
    for (const UnitUsage& unit : device.units) busy[unit.name] += share * unit.busy.value();
  return busy;
}

NeuronResult neurons_of(const NeuronTotals& totals) {
  const PredictionCounts& all = totals.predictions;
  const auto of = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  return {of(all.neurons - (all.active + all.predicted - 2 * all.both), all.neurons),
          of(all.both, all.active),
          totals.swapped.value() / 1e9,
          totals.remapped.value() / 1e9,
          totals.gap,
          totals.placement.value()};
}

CaseResult case_result(const Plan& plan, const RunResult& result) {
  const Metrics m = measure(result, plan.scenario.slo);
  const Utilisation used = utilisation(result);
  double dollars = 0;
  for (const DeviceUsage& device : result.devices) dollars += device.dollars_per_hour;
  CaseResult r{.ttft_mean_ms = m.ttft_ms.mean,
               .ttft_p50_ms = m.ttft_ms.p50,
               .tpot_mean_ms = m.tpot_ms.mean,
               .tpot_p50_ms = m.tpot_ms.p50,
               .e2e_mean_ms = m.e2el_ms.mean,
               .e2e_p50_ms = m.e2el_ms.p50,
               .output_throughput = m.output_throughput,
               .running = mean_running(result),
               .rejected = static_cast<double>(m.rejected),
               .flops_utilisation = used.flops,
               .memory_utilisation = used.memory,
               .pim_utilisation = used.pim,
               .device_watts = used.watts,
               .makespan_s = (result.end - result.start).value(),
               .dollars_per_hour = dollars};
  r.busy_s = busy_units(result);
  if (result.neurons) r.neurons = neurons_of(*result.neurons);
  return r;
}

// From the child that ran it to its parent. CBOR, as JSON has no NaN.
std::string packed(const CaseResult& r) {
  Json all = {{"figures",
               {r.ttft_mean_ms, r.ttft_p50_ms, r.tpot_mean_ms, r.tpot_p50_ms, r.e2e_mean_ms, r.e2e_p50_ms,
                r.output_throughput, r.running, r.rejected, r.flops_utilisation, r.memory_utilisation,
                r.pim_utilisation, r.device_watts, r.makespan_s, r.dollars_per_hour}},
              {"busy", r.busy_s}};
  if (const auto& n = r.neurons)
    all["neurons"] = {n->accuracy,    n->recall,        n->swapped_gb,
                      n->remapped_gb, n->placement_gap, n->placement_s};
  const std::vector<std::uint8_t> bytes = Json::to_cbor(all);
  return {bytes.begin(), bytes.end()};
}

CaseResult unpacked(const std::string& bytes) {
  const Json all = Json::from_cbor(bytes);
  const auto v = all["figures"].get<std::vector<double>>();
  CaseResult r{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], v[14]};
  r.busy_s = all["busy"].get<std::map<std::string, double>>();
  if (const auto neurons = all.find("neurons"); neurons != all.end()) {
    const auto n = neurons->get<std::vector<double>>();
    r.neurons = NeuronResult{n[0], n[1], n[2], n[3], n[4], n[5]};
  }
  return r;
}

std::string simulate_case(const Case& c) {
  const Plan plan = read_plan(c.scenario, c.name);
  return packed(case_result(plan, simulate(plan, {})));
}

}  // namespace

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const ReproduceOptions& options) {
  return run_cases(
      cases.size(), [&](std::size_t i) { return cases[i]; }, options);
}

std::vector<CaseResult> run_cases(std::size_t count, const std::function<Case(std::size_t)>& case_of,
                                  const ReproduceOptions& options) {
  std::vector<CaseResult> results(count);
  std::size_t ended = 0;
  in_children(
      count, options.jobs, [&](std::size_t i) { return simulate_case(case_of(i)); },
      [&](std::size_t i, ChildResult child) {
        results[i].error = child.error;
        if (child.error.empty()) results[i] = unpacked(child.output);
        if (options.progress) options.progress(fmt::format("{}/{} runs", ++ended, count));
        return true;
      });
  return results;
}

}  // namespace weir
