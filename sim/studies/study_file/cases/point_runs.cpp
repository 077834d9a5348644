#include "sim/studies/study_file/cases/point_runs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/app/child_process.h"
#include "sim/app/results/metric.h"
#include "sim/app/sweep/point_run.h"
#include "sim/app/sweep/validator.h"

namespace weir::study {
namespace {

constexpr std::size_t most_runs = 100'000;

// In a child: a simulation needs a process of its own, and scenarios side by side would slow every fork.
std::string run_metrics_of(const Wanted::Point& point, const std::filesystem::path& file) {
  Sweep sweep;
  sweep.file = sweep.scenario_file = file;
  sweep.scenario = point.of->scenario(point.place);
  const Json summary = run_point(sweep, Point{});
  Json numbers = Json::array();
  for (const std::string& metric : point.of->metrics) {
    const double value = metric_of(summary, metric);
    numbers.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
  }
  return numbers.dump();
}

std::vector<double> numbers_of(const std::string& output) {
  std::vector<double> numbers;
  for (const Json& number : Json::parse(output))
    numbers.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>());
  return numbers;
}

std::vector<double> probed(const Wanted::Point& point, const std::filesystem::path& file) {
  const StudyCase& from = *point.of;
  Reading reading(file.string());
  const std::vector<double> all = from.probe->of(from.scenario(point.place), reading);
  reading.finish();
  std::vector<double> numbers;
  for (const std::string& metric : from.metrics)
    numbers.push_back(all[static_cast<std::size_t>(std::ranges::find(from.probe->numbers, metric) -
                                                   from.probe->numbers.begin())]);
  return numbers;
}

}  // namespace

double Wanted::of(const StudyCase& from, const Place& place, std::size_t) {
  if (known_[&from].insert(index_of(axes_, from.free, place)).second) {
    if (points_.size() == most_runs)
      throw std::runtime_error(fmt::format("asks for more than {} points", most_runs));
    Place own(axes_.size(), unchosen);
    for (const std::size_t axis : from.free) own[axis] = place[axis];
    points_.push_back({&from, std::move(own)});
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Found::Found(const Axes& axes, const std::vector<Wanted::Point>& points, const std::filesystem::path& file,
             const ReproduceOptions& options)
    : axes_(axes) {
  std::vector<const Wanted::Point*> runs;
  const auto outcome = [&](const Wanted::Point& point) -> Outcome& {
    return outcomes_[point.of][index_of(axes, point.of->free, point.place)];
  };
  for (const Wanted::Point& point : points) {
    if (!point.of->probe) {
      runs.push_back(&point);
      continue;
    }
    try {
      outcome(point).numbers = probed(point, file);
    } catch (const std::runtime_error& failure) {
      outcome(point).error = failure.what();
    }
  }
  std::size_t ended = 0;
  in_children(
      runs.size(), options.jobs, [&](std::size_t i) { return run_metrics_of(*runs[i], file); },
      [&](std::size_t i, ChildResult child) {
        Outcome& result = outcome(*runs[i]);
        result.error = child.error;
        if (result.error.empty()) result.numbers = numbers_of(child.output);
        if (options.progress) options.progress(fmt::format("{}/{} runs", ++ended, runs.size()));
        return true;
      });
}

double Found::of(const StudyCase& from, const Place& place, std::size_t metric) {
  const Outcome& outcome = outcomes_.at(&from).at(index_of(axes_, from.free, place));
  if (!outcome.error.empty() && from.may_fail) return std::numeric_limits<double>::quiet_NaN();
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}", from.in_words(axes_, place), why));
  };
  if (!outcome.error.empty()) fail(outcome.error);
  if (std::isnan(outcome.numbers.at(metric))) fail("it has no " + from.metrics[metric]);
  return outcome.numbers.at(metric);
}

void check_first_points(const Axes& axes, const std::vector<Wanted::Point>& points,
                        const std::filesystem::path& file, Reading& reading) {
  std::set<const StudyCase*> checked;
  ScenarioValidator validator(file.string());
  for (const Wanted::Point& point : points) {
    if (!checked.insert(point.of).second) continue;
    const std::string at = "/cases/" + point.of->name;
    const std::string words = point.of->in_words(axes, point.place);
    const auto tell = [&](const Problem& p) {
      if (p.misfit && point.of->may_fail) return;
      reading.problem(at, fmt::format("{}: {}{}{}", words, p.pointer, p.pointer.empty() ? "" : ": ", p.what));
    };
    try {
      const Json parameters = point.of->scenario(point.place);
      if (!point.of->probe) {
        for (const Problem& p : validator.problems(parameters)) tell(p);
        continue;
      }
      Reading part(file.string());
      point.of->probe->of(parameters, part);
      part.finish();
    } catch (const ConfigError& e) {
      for (const Problem& p : e.problems()) tell(p);
    } catch (const std::runtime_error& e) {
      tell({"", e.what()});
    }
  }
}

}  // namespace weir::study
