#include "sim/app/sweep/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "sim/app/command_line.h"
#include "sim/app/interruption.h"
#include "sim/app/progress_bar.h"
#include "sim/app/sweep/point_run.h"
#include "sim/app/sweep/search/conclude.h"
#include "sim/app/sweep/sweep_directory.h"

namespace weir {
namespace {

std::vector<std::size_t> without_result(const std::vector<std::size_t>& points, const ResultStore& store) {
  std::vector<bool> done = store.done();
  std::vector<std::size_t> left;
  for (const std::size_t i : points)
    if (i >= done.size() || !done[i]) left.push_back(i);
  return left;
}

void tell_failures(const ResultSet& results) {
  constexpr int most = 10;
  int told = 0, untold = 0;
  for (const PointResult& point : results.points) {
    if (point.status == "done") continue;
    if (told == most) {
      ++untold;
      continue;
    }
    ++told;
    std::string where;
    for (const auto& [pointer, value] : point.varied) where += fmt::format(" {}={}", pointer, value.dump());
    fmt::print(stderr, "point {} failed: {} ({})\n", point.index, point.error, where.substr(!where.empty()));
  }
  if (untold > 0) fmt::print(stderr, "and {} more failed, see the errors in results.sqlite\n", untold);
}

}  // namespace

void run_left(const Sweep& sweep, const std::vector<std::size_t>& points, ResultStore& store,
              const RunPoints& run_points, const Interruption& interruption, const ShowEnded& show) {
  const std::vector<std::size_t> left = without_result(points, store);
  std::size_t ended = 0, failed = 0;
  run_points(
      left,
      [&](std::size_t point, const EndedPoint& result) {
        const bool lost = !result.error.empty();
        store.put(sweep.points[point], result, lost ? scenario_of(sweep, sweep.points[point]) : Json());
        ++ended;
        failed += lost;
      },
      [&] {
        show({ended, left.size(), failed});
        return !interruption;
      });
  if (ended < left.size()) throw Interrupted();
}

PointWork work_of(const Sweep& sweep) {
  return [&sweep](std::size_t point) { return run_point(sweep, sweep.points[point]).dump(); };
}

ChildLimits limits_of(const Sweep& sweep) {
  return {.time_s = sweep.limits.time_s, .memory_bytes = sweep.limits.memory_bytes, .keep_stderr = true};
}

EndedPoint ended(ChildResult result) {
  return {std::move(result.error), std::move(result.output), result.wall_s, result.cpu_s,
          result.peak_rss_bytes};
}

RunPoints in_local_children(PointWork work, const ChildLimits& limits, int jobs) {
  return
      [work = std::move(work), limits, jobs](const auto& points, const auto& when_ended, const auto& go_on) {
        Children children(limits);
        std::size_t next = 0;
        while ((next < points.size() || children.running() > 0) && go_on()) {
          for (; next < points.size() && children.running() < static_cast<std::size_t>(jobs); ++next)
            children.start(points[next], [&] { return work(points[next]); });
          for (auto& [point, result] : children.wait(std::chrono::milliseconds(100)))
            when_ended(point, ended(std::move(result)));
        }
      };
}

namespace {

void run_all(const Sweep& sweep, ResultStore& store, const RunPoints& run_points,
             const Interruption& interruption, bool talk) {
  std::vector<std::size_t> points(sweep.points.size());
  std::iota(points.begin(), points.end(), std::size_t{0});
  const std::size_t left = without_result(points, store).size();
  if (talk && left < points.size())
    fmt::print(stderr, "{} of {} points are there already\n", points.size() - left, points.size());
  ProgressBar bar(talk);
  run_left(sweep, points, store, run_points, interruption, [&](const EndedOf& so_far) {
    bar.show(static_cast<double>(so_far.ended) / static_cast<double>(so_far.of),
             fmt::format("{} of {} points{}", so_far.ended, so_far.of,
                         so_far.failed > 0 ? fmt::format(", {} failed", so_far.failed) : ""));
  });
}

}  // namespace

int run_sweep(const Sweep& sweep, const SweepArguments& arguments, const RunPoints& run_points) try {
  const Interruption interruption;
  SweepDirectory directory(arguments.out, sweep, arguments.resume);
  if (!arguments.quiet) tell_removed(directory.removed());
  const std::filesystem::path csv = directory.file("results.csv");
  std::filesystem::remove(csv);  // of the points as they were before
  run_all(sweep, directory.store(), run_points, interruption, !arguments.quiet);
  const std::filesystem::path database = directory.file("results.sqlite");
  std::vector<std::string> metrics = table_metrics();
  for (const std::string& metric : metrics_of(sweep.searches)) metrics.push_back(metric);
  ResultSet results = read_store(database, metrics);
  const std::vector<std::string> columns = conclude(sweep.searches, results.points);
  if (!columns.empty()) directory.store().add_columns(results.points, columns);
  directory.close();
  write_results_csv(csv, database, results.varied);
  tell_failures(results);
  const bool all_done = std::ranges::all_of(results.points, [](const auto& p) { return p.status == "done"; });
  const int code = all_done ? exit_done : exit_incomplete;
  if (arguments.quiet) return code;
  fmt::print("{}",
             sweep_table(results, csv.string(), is_terminal(STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
  std::fflush(stdout);
  fmt::print(stderr, "results in {}\n", arguments.out);
  return code;
} catch (const Interrupted&) {
  fmt::print(stderr, "weir: interrupted; --resume runs the points that {} lacks\n", arguments.out);
  return Interruption::exit_code();
}

}  // namespace weir
