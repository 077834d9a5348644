#include "sim/studies/matched_pair.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// Steps of the net beside that show how long one takes.
constexpr std::int64_t sampled = 64;

}  // namespace

MatchedPair matched_pair(TrainingJob job) {
  const bool profiled = job.spec.runtime->profiles();
  const auto by_itself = [&](std::int64_t steps) {
    return TrainingStep(*job.beside, job.machine, job.spec.beside->runtime, steps).play().ends.back();
  };
  const auto placed = [&](const TrainingRun& run, Seconds end) {
    return end - (profiled ? run.ends.front() : Seconds(0));
  };
  MatchedPair pair;
  const TrainingRun first = TrainingStep(job.graph, job.machine, job.spec.runtime, job.spec.steps).play();
  pair.first = placed(first, first.ends.back());
  const Seconds step = 1. / sampled * (by_itself(2 * sampled) - by_itself(sampled));
  const std::int64_t steps = std::max<std::int64_t>(1, std::llround(pair.first / step));
  pair.beside = by_itself(steps);
  pair.beside_steps = static_cast<double>(steps) / static_cast<double>(job.spec.steps - profiled);
  job.spec.beside->steps = steps;
  const TrainingRun both = job.all_steps().play();
  pair.together = placed(both, std::max(both.ends.back(), both.beside_ends.back()));
  return pair;
}

}  // namespace weir
