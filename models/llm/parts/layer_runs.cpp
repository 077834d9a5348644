#include "models/llm/parts/layer_runs.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t longest_period = 8;

LayerRun run_of(std::span<const LayerKind> layers, std::size_t period) {
  const auto pattern = layers.first(period);
  std::size_t times = 1;
  while ((times + 1) * period <= layers.size() &&
         std::ranges::equal(layers.subspan(times * period, period), pattern))
    ++times;
  return {pattern, static_cast<std::int64_t>(times)};
}

}  // namespace

std::vector<LayerRun> runs_of(std::span<const LayerKind> layers) {
  std::vector<LayerRun> runs;
  while (!layers.empty()) {
    LayerRun best = run_of(layers, 1);
    std::size_t covered = static_cast<std::size_t>(best.times);
    for (std::size_t period = 2; period <= std::min(longest_period, layers.size() / 2); ++period) {
      const LayerRun run = run_of(layers, period);
      const std::size_t more = static_cast<std::size_t>(run.times) * period;
      if (run.times > 1 && more > covered) best = run, covered = more;
    }
    runs.push_back(best);
    layers = layers.subspan(covered);
  }
  return runs;
}

}  // namespace weir
