#include "sim/app/sweep/time_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sim/app/sweep/point_run.h"
#include "sim/engine/child_process.h"

namespace weir {
namespace {

constexpr std::size_t points_to_time = 5;
constexpr double longest_s = 4;  // of one of them: what a user waits for before anything has begun

std::string duration_in_words(double s) {
  if (s < 100) return fmt::format("{:.{}f} s", s, s < 10 ? 1 : 0);
  if (s < 6000) return fmt::format("{:.0f} minutes", s / 60);
  return fmt::format("{:.1f} hours", s / 3600);
}

}  // namespace

TimeEstimate estimate_time(const Sweep& sweep) {
  TimeEstimate estimate;
  estimate.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::size_t all = sweep.points.size(), count = std::min(points_to_time, all);
  double total_s = 0;
  for (std::size_t i = 0; i < count && !estimate.at_least; ++i) {
    const Point& point = sweep.points[count == 1 ? 0 : i * (all - 1) / (count - 1)];
    Children child({.time_s = longest_s, .memory_bytes = sweep.limits.memory_bytes});
    child.start(i, [&] { return run_point(sweep, point).dump(); });
    while (child.running() > 0)
      for (const auto& [id, result] : child.wait(std::chrono::milliseconds(100))) {
        total_s += result.wall_s;
        ++estimate.timed;
        estimate.at_least = result.wall_s >= longest_s;  // the others may take as long: time no more
        if (!estimate.at_least && !result.error.empty()) estimate.failed = result.error;
      }
  }
  estimate.point_s = total_s / std::max(1, estimate.timed);
  estimate.sweep_s = estimate.point_s * static_cast<double>(all) / estimate.jobs;
  return estimate;
}

std::string in_words(const TimeEstimate& e) {
  std::string text = fmt::format("estimated time: {}{} on {} core{} (from {} point{} run now, {:.2g} s each)",
                                 e.at_least ? "more than " : "about ", duration_in_words(e.sweep_s), e.jobs,
                                 e.jobs == 1 ? "" : "s", e.timed, e.timed == 1 ? "" : "s", e.point_s);
  if (!e.failed.empty()) text += fmt::format("\nnote: one of them failed: {}", e.failed);
  return text;
}

}  // namespace weir
