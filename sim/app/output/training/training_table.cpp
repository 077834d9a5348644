#include <fmt/format.h>

#include "sim/app/output/metrics.h"
#include "sim/app/output/text_grid.h"
#include "sim/app/output/training/training_writers.h"

namespace weir {
namespace {

std::string shown(double value) {
  return shown_number(value, 4);
}

std::string utilisations(const TrainingResult& result) {
  std::string words;
  for (const BusyUnit& unit : busy_units(result))
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", unit.name, shown_percent(unit.utilisation));
  return words;
}

std::string split_of(const TimeSplit& split) {
  const double all = (split.operation + split.movement + split.synchronisation).value();
  return fmt::format(
      "operation {}, movement {}, synchronisation {}", shown_percent(split.operation.value() / all),
      shown_percent(split.movement.value() / all), shown_percent(split.synchronisation.value() / all));
}

}  // namespace

std::string training_table(const FinishedTraining& training, bool styled, std::size_t width) {
  std::string text;
  const auto row = [&](const std::string& name, const std::string& value) {
    text += entry(name, 12, value, width);
  };
  for (std::size_t i = 0; i < training.jobs.size(); ++i) {
    const TrainingJob& job = training.plan.training[i];
    const TrainingResult& result = training.jobs[i];
    std::vector<double> times = step_times_ms(result.run);
    const Distribution steps = distribution_of(times);
    const std::string copies =
        job.machine.copies > 1 ? fmt::format(", {} copies", job.machine.copies) : std::string();
    const std::string title = fmt::format("{}: {}, batch {}{}, {} steps", job.spec.name, job.graph.net,
                                          job.graph.batch, copies, job.spec.steps);
    text += (styled ? "\033[1m" + title + "\033[0m" : title) + "\n";
    row("Step",
        fmt::format("{} ms mean, {} p50, {} p99", shown(steps.mean), shown(steps.p50), shown(steps.p99)));
    const double seconds = result.run.ends.back().value();
    const auto samples = static_cast<double>(job.machine.copies * job.graph.batch * job.spec.steps);
    row("Throughput", fmt::format("{} samples/s", shown(samples / seconds)));
    if (result.split) row("Time", split_of(*result.split));
    row("Busy", utilisations(result));
    row("Energy", fmt::format("{} J above idle", shown(job.machine.copies * result.run.energy.value())));
    if (!training.alone) continue;
    const Seconds alone = (*training.alone)[i];
    row("Lost", fmt::format("{} s to replicas, of {} s alone", shown(lost_to_replicas(result, alone).value()),
                            shown(alone.value())));
  }
  return text;
}

}  // namespace weir
