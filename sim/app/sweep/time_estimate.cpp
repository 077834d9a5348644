#include "sim/app/sweep/time_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "sim/app/sweep/point_run.h"
#include "sim/engine/child_process.h"

namespace weir {
namespace {

// What a user waits for before anything has begun. Points of a sweep differ tenfold in their time, so that
// many are timed, not a few.
constexpr double patience_s = 3;
constexpr double longest_s = 6;  // of one point

// The n-th of a sequence that covers [0, count) ever more finely, without the regular steps that would meet
// only some values of an axis: multiples of the golden ratio.
std::size_t nth_place(std::size_t n, std::size_t count) {
  const double turns = static_cast<double>(n) * 0.6180339887498949;
  return static_cast<std::size_t>((turns - std::floor(turns)) * static_cast<double>(count));
}

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
  const std::size_t all = sweep.points.size();
  const auto started = Clock::now();
  const auto patient = [&] { return Clock::now() - started < std::chrono::duration<double>(patience_s); };
  Children children({.time_s = longest_s, .memory_bytes = sweep.limits.memory_bytes});
  std::set<std::size_t> begun;
  double total_s = 0;
  for (std::size_t n = 0; children.running() > 0 || (begun.size() < all && n < 2 * all && patient());) {
    while (children.running() < static_cast<std::size_t>(estimate.jobs) && n < 2 * all && patient())
      if (const std::size_t i = nth_place(n++, all); begun.insert(i).second)
        children.start(i, [&] { return run_point(sweep, sweep.points[i]).dump(); });
    for (const auto& [i, result] : children.wait(std::chrono::milliseconds(100))) {
      total_s += result.wall_s;
      ++estimate.timed;
      const bool stopped = result.wall_s >= longest_s;
      estimate.at_least = estimate.at_least || stopped;
      if (!stopped && !result.error.empty()) estimate.failed = result.error;
    }
  }
  estimate.point_s = total_s / std::max(1, estimate.timed);
  estimate.sweep_s =
      estimate.point_s * static_cast<double>(all) / std::min(estimate.jobs, static_cast<int>(all));
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
