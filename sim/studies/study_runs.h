#pragma once
// The runs that a study wants, each simulated once in both assumption sets: `paper`, which holds what is
// taken from the paper's own model or fitted to it, and `physical`. A study's point has name_of(point),
// unique, and scenario_of(point, assumptions) beside it; one that is `paper_only` is not simulated in
// `physical`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/studies/case_runner.h"

namespace weir {

struct Measured {
  CaseResult paper, physical;
};

template <class Point>
class StudyRuns {
 public:
  StudyRuns() = default;  // of all rows
  explicit StudyRuns(const ReproduceOptions& options) : options_(options) {}

  const ReproduceOptions& options() const { return options_; }
  // False of a row that is not asked for: its runs need not be wanted, and it is not to be made.
  bool wants_row(const std::string& id) const { return options_.wants(id); }

  void want(const Point& point) { wanted_.emplace(name_of(point), point); }

  // Wants each point that is wanted so far also as it is changed.
  void want_each(Point (*changed)(const Point&)) {
    for (const auto& [name, point] : std::map(wanted_)) want(changed(point));
  }
  // The same points, whose `paper` is that of what each is changed to.
  StudyRuns with_paper_of(Point (*changed)(const Point&)) const {
    StudyRuns other = *this;
    for (const auto& [name, point] : wanted_)
      other.results_[name].paper = results_.at(name_of(changed(point))).paper;
    return other;
  }

  void run(const ReproduceOptions& options) {  // all that are wanted
    struct Asked {
      const Point* point;
      const char* assumptions;
      CaseResult* result;
    };
    std::vector<Asked> asked;
    for (const auto& [name, point] : wanted_) {
      Measured& measured = results_[name];
      asked.push_back({&point, "paper", &measured.paper});
      if (!paper_only(point)) asked.push_back({&point, "physical", &measured.physical});
    }
    const std::vector<CaseResult> results = run_cases(
        asked.size(),
        [&](std::size_t run) {
          const auto& [point, assumptions, result] = asked[run];
          return Case{fmt::format("{}, {}", name_of(*point), assumptions), scenario_of(*point, assumptions)};
        },
        options);
    for (std::size_t i = 0; i < asked.size(); ++i) *asked[i].result = results[i];
  }

  const Measured& found(const Point& point) const {  // may have errors
    return results_.at(name_of(point));
  }

  // Empty where it ran; else why it could not.
  std::string error(const Point& point) const {
    const Measured& m = found(point);
    return !m.paper.error.empty() ? m.paper.error : m.physical.error;
  }

  const Measured& at(const Point& point) const {  // throws std::runtime_error where it could not run
    const std::string why = error(point);
    if (!why.empty()) throw std::runtime_error(name_of(point) + ": " + why);
    return found(point);
  }

  template <class Action>
  void each(const Action& action) const {
    for (const auto& [name, point] : wanted_) action(point, results_.at(name));
  }

  static bool paper_only(const Point& point) {
    if constexpr (requires { point.paper_only; })
      return point.paper_only;
    else
      return false;
  }

 private:
  ReproduceOptions options_;
  std::map<std::string, Point> wanted_;
  std::map<std::string, Measured> results_;
};

// A figure or table of a study: what its rows' ids begin with, the runs it wants, and its rows made of them.
template <class Runs>
struct StudyPart {
  std::vector<const char*> ids;
  void (*want)(Runs&);
  void (*add)(const Runs&, const std::filesystem::path& folder, ReproducedRows&);

  bool named_by(const std::string& only) const {
    return std::ranges::any_of(ids, [&](const char* id) { return may_name(only, id); });
  }
};

template <class Part>
std::vector<std::string> ids_of(const std::vector<Part>& parts) {
  std::vector<std::string> ids;
  for (const Part& part : parts) ids.insert(ids.end(), part.ids.begin(), part.ids.end());
  return ids;
}

// Makes the rows of the parts that options.only may name.
template <class Runs>
ReproducedRows reproduce_parts(std::vector<StudyPart<Runs>> parts, const ReproduceOptions& options) {
  if (!options.only.empty())
    std::erase_if(parts, [&](const auto& part) {
      return std::ranges::none_of(options.only, [&](const std::string& only) { return part.named_by(only); });
    });
  Runs runs(options);
  for (const auto& part : parts) part.want(runs);
  runs.run(options);
  ReproducedRows rows;
  for (const auto& part : parts)
    add_part(rows, part.ids.front(), [&](ReproducedRows& more) { part.add(runs, options.files, more); });
  return rows;
}

}  // namespace weir
