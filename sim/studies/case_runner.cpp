#include "sim/studies/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sim/app/child_process.h"
#include "sim/app/output/metrics.h"
#include "sim/serving/simulation.h"
#include "sim/studies/matched_pair.h"
#include "sim/studies/steady_step.h"

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

CaseFigures serve_case(const Plan& plan) {
  RunResult result = simulate(plan, {});
  const Metrics m = measure(result, plan.scenario.slo);
  const Utilisation used = utilisation(result);
  double dollars = 0;
  for (const DeviceUsage& device : result.devices) dollars += device.dollars_per_hour;
  return {.ttft_mean_ms = m.ttft_ms.mean,
          .ttft_p50_ms = m.ttft_ms.p50,
          .tpot_mean_ms = m.tpot_ms.mean,
          .tpot_p50_ms = m.tpot_ms.p50,
          .e2e_mean_ms = m.e2el_ms.mean,
          .e2e_p50_ms = m.e2el_ms.p50,
          .itl_p50_ms = m.itl_ms.p50,
          .output_throughput = m.output_throughput,
          .running = mean_running(result),
          .rejected = static_cast<double>(m.rejected),
          .flops_utilisation = used.flops,
          .memory_utilisation = used.memory,
          .pim_utilisation = used.pim,
          .device_watts = used.watts,
          .dollars_per_hour = dollars};
}

CaseFigures train_case(const Plan& plan) {
  if (const TrainingJob& job = plan.training.front(); job.beside) {
    const MatchedPair pair = matched_pair(job);
    return {.apart_s = (pair.first + pair.beside).value(),
            .together_s = pair.together.value(),
            .beside_steps = pair.beside_steps};
  }
  const SteadyStep step = steady_step(plan);
  return {.step_s = step.time.value(),
          .step_joules = step.energy.value(),
          .operation_s = step.split.operation.value(),
          .movement_s = step.split.movement.value(),
          .synchronisation_s = step.split.synchronisation.value(),
          .pairs_busy = step.busy_of("pairs"),
          .arm_busy = step.busy_of("arm"),
          .cpu_busy = step.busy_of("cpu")};
}

std::string simulate_case(const Case& c) {
  static_assert(std::is_trivially_copyable_v<CaseFigures>);
  const Plan plan = read_plan(c.scenario, c.name);
  const CaseFigures figures = plan.training.empty() ? serve_case(plan) : train_case(plan);
  return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
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
        if (r.error.empty())
          std::memcpy(static_cast<CaseFigures*>(&r), child.output.data(), sizeof(CaseFigures));
        if (options.progress) options.progress(fmt::format("{}/{} runs", ++ended, count));
        return true;
      });
  return results;
}

}  // namespace weir
