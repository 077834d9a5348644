#include "sim/training/train.h"

#include <algorithm>

namespace weir {
namespace {

// Steps overlap with the next one at most, so that the fourth is as good as any after it.
constexpr std::int64_t steady_step = 3;

std::optional<TimeSplit> steady_split(const TrainingJob& job) {
  const std::int64_t profiled = job.spec.runtime->profiles() ? 1 : 0;
  const std::int64_t placed = std::min(job.spec.steps - profiled, steady_step + 2);
  if (placed == 0) return {};
  const TrainingStep few = job.first_steps(placed + profiled);
  return time_split(few.plan(), few.trace(), std::min(steady_step, placed - 1));
}

}  // namespace

std::vector<TrainingResult> train(const Plan& plan) {
  std::vector<TrainingResult> results;
  for (const TrainingJob& job : plan.training) {
    auto step = std::make_shared<const TrainingStep>(job.all_steps());
    TrainingRun run = step->play(plan.scenario.fast_forward);
    results.push_back({std::move(step), std::move(run), steady_split(job)});
  }
  return results;
}

}  // namespace weir
