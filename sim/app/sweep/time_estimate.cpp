#include "sim/app/sweep/time_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "sim/app/child_process.h"
#include "sim/app/sweep/point_run.h"
#include "sim/serving/simulation.h"
#include "sim/training/train.h"

namespace weir {
namespace {

// A user waits for this before anything has begun. Points of a sweep differ tenfold in their time, so that
// many are timed, not a few.
constexpr double patience_s = 3;
constexpr double longest_s = 6;   // of one point
constexpr double scenario_s = 1;  // it says how far it came

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// The n-th of a sequence that covers [0, count) ever more finely, without the regular steps that would meet
// only some values of an axis: multiples of the golden ratio.
std::size_t nth_place(std::size_t n, std::size_t count) {
  const double turns = static_cast<double>(n) * 0.6180339887498949;
  return static_cast<std::size_t>((turns - std::floor(turns)) * static_cast<double>(count));
}

std::string duration_in_words(double s) {
  if (s < 100) return fmt::format("{:.2g} s", s);
  if (s < 6000) return fmt::format("{:.0f} minutes", s / 60);
  return fmt::format("{:.1f} hours", s / 3600);
}

// Runs a point and gives the share of it that was done before it stopped of itself: 1 is all.
using TimedRun = std::function<double(std::size_t point)>;

TimeEstimate time_points(std::size_t all, const TimedRun& run, std::optional<std::int64_t> memory_bytes) {
  TimeEstimate estimate;
  estimate.points = all;
  estimate.jobs =
      std::max(1, std::min(static_cast<int>(std::thread::hardware_concurrency()), static_cast<int>(all)));
  const auto started = Clock::now();
  const auto patient = [&] { return seconds_since(started) < patience_s; };
  Children children({.time_s = longest_s, .memory_bytes = memory_bytes});
  std::set<std::size_t> begun;
  double total_s = 0;
  for (std::size_t n = 0; children.running() > 0 || (begun.size() < all && n < 2 * all && patient());) {
    while (children.running() < static_cast<std::size_t>(estimate.jobs) && n < 2 * all && patient())
      if (const std::size_t i = nth_place(n++, all); begun.insert(i).second)
        children.start(i, [&] { return fmt::format("{}", run(i)); });
    for (const auto& [i, result] : children.wait(std::chrono::milliseconds(100))) {
      const double share = result.error.empty() ? std::max(1e-9, std::stod(result.output)) : 1;
      total_s += result.wall_s / share;
      ++estimate.timed;
      const bool stopped = result.wall_s >= longest_s;
      estimate.whole = estimate.whole && share >= 1;
      estimate.at_least = estimate.at_least || stopped;
      if (!stopped && !result.error.empty()) estimate.failed = result.error;
    }
  }
  estimate.point_s = total_s / std::max(1, estimate.timed);
  estimate.all_s = estimate.point_s * static_cast<double>(all) / estimate.jobs;
  return estimate;
}

}  // namespace

TimeEstimate estimate_time(const Sweep& sweep) {
  return time_points(
      sweep.points.size(),
      [&](std::size_t i) {
        run_point(sweep, sweep.points[i]);
        return 1.0;
      },
      sweep.limits.memory_bytes);
}

TimeEstimate estimate_time(const Plan& plan) {
  return time_points(1,
                     [&](std::size_t) {
                       if (!plan.training.empty()) return train(plan), 1.0;
                       const auto started = Clock::now();
                       std::atomic<bool> stop = false;
                       double share = 0;
                       const auto watch = [&](const Progress& progress) {
                         share = progress.share;
                         stop = seconds_since(started) > scenario_s;
                       };
                       return simulate(plan, {.progress = watch, .interrupted = &stop}).interrupted ? share
                                                                                                    : 1;
                     },
                     {});
}

std::string in_words(const TimeEstimate& e) {
  std::string text = fmt::format("estimated time: {}{} on {} core{}", e.at_least ? "more than " : "about ",
                                 duration_in_words(e.all_s), e.jobs, e.jobs == 1 ? "" : "s");
  if (e.points > 1)
    text +=
        fmt::format(" (from {} point{} run now, {:.2g} s each)", e.timed, e.timed == 1 ? "" : "s", e.point_s);
  else
    text += e.whole ? " (run now)" : " (from its beginning, run now)";
  if (!e.failed.empty())
    text += fmt::format("\nnote: {} failed: {}", e.points > 1 ? "one of them" : "it", e.failed);
  return text;
}

std::vector<std::string> flows_warning(const TimeEstimate& e) {
  constexpr double minutes_s = 60;
  if (e.all_s < minutes_s && !e.at_least) return {};
  return {fmt::format("collectives are played as flows, which takes {}{} here; \"closed_form\" does not",
                      e.at_least ? "more than " : "about ", duration_in_words(e.all_s))};
}

}  // namespace weir
