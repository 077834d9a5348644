// From a sweep file to its points: the full grid, less what constraints and layouts leave out, every point's
// scenario read and validated whole before any runs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/app/results/labels.h"
#include "sim/app/sweep/sweep_spec.h"
#include "sim/app/sweep/where.h"

namespace weir {

std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

namespace {

struct Candidate {
  Varied varied;
  std::string layout;  // in words
};

struct Cell {  // of the grid
  Candidate candidate;
  Json scenario;
  bool broken = false;  // an axis could not be set: that was said
};

class Expansion {
 public:
  Expansion(SweepSpec& spec, Reading& reading)
      : spec_(spec), reading_(reading), validator_(spec.sweep.scenario_file.string()) {}

  void run() {
    for (std::size_t i = 0; i < spec_.where.size(); ++i) try {
        constraints_.emplace_back(spec_.where[i]);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& e) {
        reading_.problem(fmt::format("/where/{}", i), e.what());
      }
    list_places();
    if (reading_.failed()) return;
    grid(0, {{}, spec_.sweep.scenario});
    if (too_many_) return;
    validate();
    report_errors();
    report_left_out();
    spec_.sweep.files.insert(validator_.files().begin(), validator_.files().end());
    spec_.sweep.notes = validator_.notes();
    note_replaced();
    list_pointers();
    if (spec_.sweep.points.empty() && !reading_.failed())
      reading_.problem("", fmt::format("no point is left{}", spec_.sweep.left_out.empty()
                                                                 ? ""
                                                                 : ": " + spec_.sweep.left_out[0].what +
                                                                       ": " + spec_.sweep.left_out[0].why));
  }

 private:
  void list_places() {
    for (const SweepAxis& axis : spec_.axes)
      for (std::size_t i = 0; i < axis.pointers.size(); ++i) given_at_[axis.pointers[i]] = axis.given_at[i];
    if (spec_.seeds) given_at_["/seed"] = "/seeds";
  }

  Cell with(const Cell& base, const SweepAxis& axis, std::size_t choice) {
    Cell next = base;
    for (std::size_t i = 0; i < axis.pointers.size(); ++i) {
      const Json::json_pointer pointer(axis.pointers[i]);
      if (const std::string why = why_not_settable(next.scenario, pointer); !why.empty()) {
        remember_error(axis.given_at[i], why, next.candidate);
        next.broken = true;
        continue;
      }
      next.candidate.varied.emplace_back(axis.pointers[i], axis.choices[choice][i]);
      next.scenario[pointer] = axis.choices[choice][i];
    }
    return next;
  }

  void grid(std::size_t depth, const Cell& base) {
    if (depth == spec_.axes.size()) return layouts(base);
    for (std::size_t i = 0; i < spec_.axes[depth].choices.size() && !too_many_; ++i)
      grid(depth + 1, with(base, spec_.axes[depth], i));
  }

  void layouts(const Cell& base) {
    if (!spec_.layouts) return seeds(base);
    const SweepAxis axis = layouts_of(base.scenario, spec_.sweep.scenario_file);
    if (axis.choices.empty()) return seeds(base);  // no cluster to lay out on: the reading says so
    for (std::size_t i = 0; i < axis.choices.size() && !too_many_; ++i) {
      Cell next = with(base, axis, i);
      const std::vector<Json>& l = axis.choices[i];
      next.candidate.layout =
          fmt::format("tensor {} x pipeline {}{} x {} replicas", l[0].dump(), l[1].dump(),
                      l[2] == 1 ? "" : fmt::format(" x expert {}", l[2].dump()), l[3].dump());
      seeds(next);
    }
  }

  void seeds(const Cell& base) {
    if (!spec_.seeds) return add(base);
    for (std::size_t i = 0; i < spec_.seeds->choices.size() && !too_many_; ++i)
      add(with(base, *spec_.seeds, i));
  }

  void add(Cell cell) {
    if (++grid_points_ > most_points) {
      too_many_ = true;
      return reading_.problem("", fmt::format("more than {} points", most_points));
    }
    if (cell.broken || !meets_constraints(cell)) return;
    cell.candidate.varied.shrink_to_fit();
    candidates_.push_back(std::move(cell.candidate));
  }

  void validate() {
    const auto found = validator_.problems(candidates_.size(), [&](std::size_t i) {
      return scenario_of(spec_.sweep, {static_cast<std::int64_t>(i), candidates_[i].varied});
    });
    for (std::size_t i = 0; i < candidates_.size(); ++i) keep_or_tell(candidates_[i], found[i]);
    candidates_.clear();
  }

  void keep_or_tell(Candidate& candidate, const std::vector<Problem>& problems) {
    if (problems.empty()) {
      const auto index = static_cast<std::int64_t>(spec_.sweep.points.size());
      ++kept_layouts_[candidate.layout];
      spec_.sweep.points.push_back({index, std::move(candidate.varied)});
    } else if (!candidate.layout.empty() && std::all_of(problems.begin(), problems.end(), speaks_of_layout)) {
      lost_layouts_[{candidate.layout, problems[0].what}].push_back(in_words(candidate.varied));
      if (lost_layouts_[{candidate.layout, problems[0].what}].size() == 1)
        layout_order_.emplace_back(candidate.layout, problems[0].what);
    } else if (spec_.skip_invalid) {
      spec_.sweep.left_out.push_back({in_words(candidate.varied), listing(problems)});
    } else {
      for (const Problem& p : problems) remember_error(p, candidate);
    }
  }

  bool meets_constraints(const Cell& cell) {
    bool meets = true;
    for (std::size_t i = 0; i < constraints_.size(); ++i) try {
        if (constraints_[i].holds(cell.candidate.varied, cell.scenario)) continue;
        if (std::exchange(meets, false)) ++excluded_[i];  // by the first that does not hold
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& e) {
        meets = false;
        if (broken_.insert(i).second) reading_.problem(fmt::format("/where/{}", i), e.what());
      }
    return meets;
  }

  static std::string listing(const std::vector<Problem>& problems) {
    std::string text;
    for (const Problem& p : problems)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", shortened(p.pointer), p.what);
    return text;
  }

  // At the varied pointer whose value is wrong, or else at /scenario.
  void remember_error(const Problem& p, const Candidate& candidate) {
    std::string at = spec_.scenario_inside ? "/scenario" + p.pointer : "/scenario";
    std::string what = spec_.scenario_inside ? p.what
                                             : fmt::format("{}: {}: {}", spec_.sweep.scenario_file.string(),
                                                           shortened(p.pointer), p.what);
    for (const auto& [pointer, value] : candidate.varied)
      if ((p.pointer + "/").starts_with(pointer + "/") && given_at_.contains(pointer)) {
        at = given_at_[pointer];
        what = p.pointer == pointer ? p.what : shortened(p.pointer) + ": " + p.what;
      }
    remember_error(at, what, candidate);
  }

  void remember_error(const std::string& at, const std::string& what, const Candidate& candidate) {
    Seen& seen = errors_[{at, what}];
    if (++seen.points == 1) seen.first_point = in_words(candidate.varied);
  }

  void report_errors() {
    for (const auto& [error, seen] : errors_) {
      std::string what = error.second;
      if (!seen.first_point.empty())
        what += fmt::format(" (point {}{})", seen.first_point,
                            seen.points > 1 ? fmt::format(", and {} more", seen.points - 1) : "");
      reading_.problem(error.first, what);
    }
  }

  void report_left_out() {
    for (const auto& key : layout_order_) {
      const auto& points = lost_layouts_[key];
      const bool whole = !kept_layouts_.contains(key.first);
      spec_.sweep.left_out.push_back(
          {whole ? key.first : fmt::format("{} ({} points, such as {})", key.first, points.size(), points[0]),
           key.second});
    }
    for (const auto& [i, count] : excluded_)
      spec_.sweep.left_out.push_back({fmt::format("{} point{}", count, count == 1 ? "" : "s"),
                                      fmt::format("where {}", constraints_[i].text())});
  }

  // The columns of results.csv. A sweep without a mixture of experts has none for their groups.
  void list_pointers() {
    const std::string expert = "/serving/replicas/0/parallelism/expert";
    const auto grouped = [&](const Point& point) {
      return std::any_of(point.varied.begin(), point.varied.end(),
                         [&](const auto& v) { return v.first == expert && v.second != 1; });
    };
    std::vector<Point>& points = spec_.sweep.points;
    if (spec_.layouts && std::none_of(points.begin(), points.end(), grouped)) {
      for (Point& point : points)
        std::erase_if(point.varied, [&](const auto& v) { return v.first == expert; });
      spec_.sweep.fixed.emplace_back(expert, 1);
    }
    if (points.empty()) return;
    for (const auto& [pointer, value] : points[0].varied) spec_.sweep.varied.push_back(pointer);
  }

  // A value that every point replaces is read at none of them: where it is wrong, it is told here.
  void note_replaced() {
    if (reading_.failed() || spec_.sweep.points.empty()) return;
    ScenarioValidator trial(spec_.sweep.scenario_file.string());
    const Json first = scenario_of(spec_.sweep, spec_.sweep.points[0]);
    for (const SweepAxis& axis : spec_.axes)
      for (std::size_t i = 0; i < axis.pointers.size(); ++i) {
        const Json::json_pointer pointer(axis.pointers[i]);
        const Json own = spec_.sweep.scenario.value(pointer, Json());
        const bool tried =
            std::ranges::any_of(axis.choices, [&](const auto& choice) { return choice[i] == own; });
        if (own.is_null() || tried) continue;
        Json other = first;
        other[pointer] = own;
        for (const Problem& p : trial.problems(other))
          if (!p.misfit && (p.pointer + "/").starts_with(axis.pointers[i] + "/"))
            spec_.sweep.notes.push_back(fmt::format(
                "{}: is wrong in the scenario, and replaced at every point: {}", p.pointer, p.what));
      }
  }

  struct Seen {
    std::string first_point;
    int points = 0;
  };

  SweepSpec& spec_;
  Reading& reading_;
  ScenarioValidator validator_;
  std::vector<Constraint> constraints_;
  std::map<std::string, std::string> given_at_;  // of a varied pointer
  std::size_t grid_points_ = 0;
  bool too_many_ = false;
  std::vector<Candidate> candidates_;
  std::set<std::size_t> broken_;                                // constraints that cannot be evaluated
  std::map<std::size_t, int> excluded_;                         // by constraint
  std::map<std::pair<std::string, std::string>, Seen> errors_;  // by place and text
  std::map<std::string, int> kept_layouts_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      lost_layouts_;  // by layout and reason
  std::vector<std::pair<std::string, std::string>> layout_order_;
};

}  // namespace

void expand(SweepSpec& spec, Reading& reading) {
  Expansion(spec, reading).run();
}

}  // namespace weir
