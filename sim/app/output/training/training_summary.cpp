#include <cmath>
#include <numeric>
#include <span>

#include "sim/app/output/metrics.h"
#include "sim/app/output/training/training_writers.h"

namespace weir {
namespace {

const char* name_of(OperatorPlace place) {
  switch (place) {
    case OperatorPlace::cpu:
      return "cpu";
    case OperatorPlace::gpu:
      return "gpu";
    case OperatorPlace::programmable:
      return "programmable";
    case OperatorPlace::fixed_function:
      return "fixed_function";
    default:
      return "split";
  }
}

Watts idle_of(const TrainingMachine& machine) {
  Watts idle;
  for (const auto& device : {machine.cpu, machine.gpu, machine.memory})
    if (device) idle += device->spec().power.idle;
  return idle;
}

Json units_json(const TrainingResult& result) {
  Json units = Json::object();
  for (const BusyUnit& unit : busy_units(result))
    units[unit.name] = {{"busy_s", unit.busy.value()}, {"utilisation", unit.utilisation}};
  return units;
}

// The first steps differ: one is profiled, and those behind it fill the pipeline.
Json steady_step_ms(const TrainingJob& job, std::span<const double> times) {
  if (job.spec.runtime->profiles()) times = times.subspan(1);
  if (times.empty()) return nullptr;
  const auto later = times.subspan(times.size() / 2);
  return std::accumulate(later.begin(), later.end(), 0.) / static_cast<double>(later.size());
}

Json split_json(const TrainingResult& result) {
  if (!result.split) return nullptr;
  return {{"operation_ms", 1e3 * result.split->operation.value()},
          {"movement_ms", 1e3 * result.split->movement.value()},
          {"synchronisation_ms", 1e3 * result.split->synchronisation.value()}};
}

// Its steps end when they can: the job's own net goes before it on every unit.
Json beside_json(const TrainingJob& job, const TrainingRun& run) {
  if (!job.beside) return nullptr;
  const auto steps = static_cast<double>(run.beside_ends.size());
  const double end = run.beside_ends.back().value();
  return {{"model", job.beside->net},
          {"batch", job.beside->batch},
          {"steps", run.beside_ends.size()},
          {"duration", end},
          {"samples_per_s", steps * static_cast<double>(job.beside->batch) / end}};
}

Json job_json(const TrainingJob& job, const TrainingResult& result) {
  const TrainingRun& run = result.run;
  const Seconds duration = run.ends.back();
  std::vector<double> times = step_times_ms(run);
  const Json steady = steady_step_ms(job, times);  // before they are sorted
  const Distribution steps = distribution_of(times);
  const double copies = job.machine.copies;
  const Joules dynamic = copies * run.energy, energy = dynamic + copies * (idle_of(job.machine) * duration);
  Json places = Json::object(), moved = Json::object(), candidates = Json::array();
  for (const auto& [place, operators] : run.operators) places[name_of(place)] = operators;
  for (const auto& [resource, bytes] : run.moved) moved[resource] = bytes.value() / 1e9;
  for (const OperatorType type : result.step->candidates()) candidates.push_back(to_string(type));
  return {
      {"name", job.spec.name},
      {"model", job.graph.net},
      {"batch", job.graph.batch},
      {"steps", job.spec.steps},
      {"data_parallel", job.machine.copies},
      {"beside", beside_json(job, run)},
      {"duration", duration.value()},
      {"mean_step_ms", steps.mean},
      {"p50_step_ms", steps.p50},
      {"p99_step_ms", steps.p99},
      {"steady_step_ms", steady},
      {"samples_per_s", copies * static_cast<double>(job.graph.batch * job.spec.steps) / duration.value()},
      {"time_split", split_json(result)},
      {"units", units_json(result)},
      {"moved_gb", moved},
      {"operators", places},
      {"candidates", candidates},
      {"peak_memory_gb", peak_bytes(job.graph).value() / 1e9},
      {"energy_j", energy.value()},
      {"dynamic_energy_j", dynamic.value()},
      {"edp_js", energy.value() * duration.value()},
      {"cost_dollars", job.dollars_per_hour * duration.value() / 3600}};
}

}  // namespace

Seconds lost_to_replicas(const TrainingResult& result, Seconds alone) {
  constexpr double nanosecond = 1e-9;  // what files are rounded to; below is rounding
  return Seconds(std::round((result.run.ends.back() - alone).value() / nanosecond) * nanosecond + 0.0);
}

std::vector<BusyUnit> busy_units(const TrainingResult& result) {
  const Seconds duration = result.run.ends.back();
  std::vector<BusyUnit> units;
  for (const StepGraph::Unit& unit : result.step->plan().graph.units) {
    const std::vector<Seconds>& members = result.run.busy.at(unit.name);
    const double parts = unit.amount > 0 ? unit.amount : unit.members;
    const Seconds busy = 1 / parts * std::accumulate(members.begin(), members.end(), Seconds(0));
    units.push_back({unit.name, busy, busy / duration});
  }
  return units;
}

std::vector<double> step_times_ms(const TrainingRun& run) {
  std::vector<double> times;
  Seconds before;
  for (const Seconds end : run.ends) {
    times.push_back(1e3 * (end - before).value());
    before = end;
  }
  return times;
}

Json training_jobs_json(const FinishedTraining& training) {
  Json jobs = Json::array();
  for (std::size_t i = 0; i < training.jobs.size(); ++i) {
    jobs.push_back(job_json(training.plan.training[i], training.jobs[i]));
    if (!training.alone) continue;
    const Seconds alone = (*training.alone)[i];
    jobs.back()["alone_duration"] = alone.value();
    jobs.back()["lost_s"] = lost_to_replicas(training.jobs[i], alone).value();
  }
  return jobs;
}

Json training_summary_json(const FinishedTraining& training) {
  const Scenario& scenario = training.plan.scenario;
  Seconds last;
  for (const TrainingResult& job : training.jobs) last = std::max(last, job.run.ends.back());
  return {{"name", scenario.name},
          {"duration", last.value()},
          {"training", training_jobs_json(training)},
          {"notes", scenario.notes},
          {"scenario", scenario.resolved}};
}

}  // namespace weir
