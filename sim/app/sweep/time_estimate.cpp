#include "sim/app/sweep/time_estimate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sim/app/sweep/point_run.h"
#include "sim/engine/child_process.h"

namespace weir {
namespace {

constexpr std::size_t points_to_time = 5;
constexpr unsigned longest_s = 4;  // of one of them: what a user waits for before anything has begun

std::string duration_in_words(double s) {
  if (s < 100) return fmt::format("{:.{}f} s", s, s < 10 ? 1 : 0);
  if (s < 6000) return fmt::format("{:.0f} minutes", s / 60);
  return fmt::format("{:.1f} hours", s / 3600);
}

}  // namespace

TimeEstimate estimate_time(const Sweep& sweep) {
  using Clock = std::chrono::steady_clock;
  TimeEstimate estimate;
  estimate.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::size_t count = std::min(points_to_time, sweep.points.size());
  double total_s = 0;
  auto started = Clock::now();
  in_children(
      count, 1,
      [&](std::size_t i) {
        ::alarm(longest_s);
        run_point(sweep, sweep.points[count == 1 ? 0 : i * (sweep.points.size() - 1) / (count - 1)]);
        return std::string("done");
      },
      [&](std::size_t, const ChildResult& result) {
        const double s = std::chrono::duration<double>(Clock::now() - started).count();
        started = Clock::now();
        total_s += s;
        ++estimate.timed;
        if (s >= longest_s)
          estimate.at_least = true;
        else if (!result.error.empty())
          estimate.failed = result.error;
        return !estimate.at_least;  // the others may take as long
      });
  estimate.point_s = total_s / std::max(1, estimate.timed);
  estimate.sweep_s = estimate.point_s * static_cast<double>(sweep.points.size()) / estimate.jobs;
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
