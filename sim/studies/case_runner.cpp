#include "sim/studies/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/app/child_process.h"
#include "sim/app/output/metrics.h"
#include "sim/serving/simulation.h"

namespace weir {
namespace {

constexpr std::size_t figures = 14;

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

std::string simulate_case(const Case& c) {
  const Plan plan = read_plan(c.scenario, c.name);
  RunResult result = simulate(plan, {});
  const Metrics m = measure(result, plan.scenario.slo);
  const Utilisation used = utilisation(result);
  double dollars = 0;
  for (const DeviceUsage& device : result.devices) dollars += device.dollars_per_hour;
  const double values[figures] = {m.ttft_ms.mean,
                                  m.ttft_ms.p50,
                                  m.tpot_ms.mean,
                                  m.tpot_ms.p50,
                                  m.e2el_ms.mean,
                                  m.e2el_ms.p50,
                                  m.output_throughput,
                                  mean_running(result),
                                  static_cast<double>(m.rejected),
                                  used.flops,
                                  used.memory,
                                  used.pim,
                                  used.watts,
                                  dollars};
  return std::string(reinterpret_cast<const char*>(values), sizeof values);
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
        CaseResult& r = results[i];
        r.error = child.error;
        if (r.error.empty()) {
          double v[figures];
          std::memcpy(v, child.output.data(), sizeof v);
          r = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], ""};
        }
        if (options.progress) options.progress(fmt::format("{}/{} runs", ++ended, count));
        return true;
      });
  return results;
}

}  // namespace weir
