#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/app/plot/canvas.h"
#include "sim/app/plot/plot.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

bool all_numbers(const std::vector<Repeated>& points, const std::string& pointer) {
  return std::all_of(points.begin(), points.end(), [&](const Repeated& r) {
    const Json* value = value_of(r.varied, pointer);
    return value && value->is_number();
  });
}

std::size_t values_of(const std::vector<Repeated>& points, const std::string& pointer) {
  std::set<std::string> values;
  for (const Repeated& r : points)
    if (const Json* value = value_of(r.varied, pointer)) values.insert(value->dump());
  return values.size();
}

// Is the value of `pointer` known from those of `words`? A kind of device zipped with its count, say.
bool follows(const std::vector<Repeated>& points, const std::string& pointer,
             const std::vector<std::string>& words) {
  std::map<std::string, std::set<std::string>> values;
  for (const Repeated& r : points) {
    std::string key;
    for (const std::string& word : words)
      if (const Json* value = value_of(r.varied, word)) key += value->dump() + "\n";
    if (const Json* value = value_of(r.varied, pointer)) values[key].insert(value->dump());
  }
  return std::all_of(values.begin(), values.end(), [](const auto& v) { return v.second.size() == 1; });
}

// Where numbers go together, such as the requests in flight and a step's limit of them, one says it all:
// the load, or the first.
void keep_one_of_each(std::vector<std::string>& numbers, const std::vector<Repeated>& points) {
  std::stable_partition(numbers.begin(), numbers.end(),
                        [](const auto& p) { return p.starts_with("/workload/arrivals/"); });
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = numbers.size() - 1; j > i; --j)
      if (follows(points, numbers[i], {numbers[j]}) && follows(points, numbers[j], {numbers[i]}))
        numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(j));
}

// The load; failing that, the number with the most values that is no part of a layout.
std::string pointer_along(const std::vector<Repeated>& points) {
  std::string best;
  std::size_t most = 1;
  for (const std::string& pointer : changing(points)) {
    if (!all_numbers(points, pointer) || is_layout(pointer)) continue;
    if (pointer.starts_with("/workload/arrivals/")) return pointer;
    if (values_of(points, pointer) > most) most = values_of(points, pointer), best = pointer;
  }
  return best;
}

// Names of the values in a label, in their order. Needless where all are words or a layout.
std::string title_of(const std::vector<Repeated>& points, const std::vector<std::string>& pointers) {
  std::string title;
  bool numbers = false, layout = false;
  for (const std::string& pointer : pointers) {
    numbers |= !is_layout(pointer) && all_numbers(points, pointer);
    layout |= is_layout(pointer);
    if (!is_layout(pointer)) title += (title.empty() ? "" : ", ") + pointer_title(pointer);
  }
  if (!numbers) return "";
  return layout ? "layout, " + title : title;
}

}  // namespace

std::vector<std::string> changing(const std::vector<Repeated>& points) {
  std::vector<std::string> pointers, words, numbers;
  if (points.empty()) return pointers;
  for (const auto& [pointer, value] : points[0].varied) {
    if (values_of(points, pointer) < 2) continue;
    pointers.push_back(pointer);
    if (!all_numbers(points, pointer))
      words.push_back(pointer);
    else if (!is_layout(pointer))
      numbers.push_back(pointer);
  }
  keep_one_of_each(numbers, points);
  std::erase_if(pointers, [&](const std::string& p) {
    if (!all_numbers(points, p)) return false;
    return follows(points, p, words) || (!is_layout(p) && std::ranges::find(numbers, p) == numbers.end());
  });
  return pointers;
}

std::string pointer_title(const std::string& pointer) {
  if (pointer == "/workload/arrivals/rate_per_s") return "Arrival rate (requests/s)";
  if (pointer == "/workload/arrivals/concurrency") return "Concurrency";  // of requests, or of sessions
  std::string title = short_name(pointer);
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

Lines lines_of(const PlotRequest& request) {
  Lines all;
  all.along = pointer_along(request.points);
  std::vector<std::string> others = changing(request.points);
  std::erase(others, all.along);
  all.title = title_of(request.points, others);
  std::map<std::string, std::size_t> place;
  for (const Repeated& repeated : request.points) {
    if (repeated.done().empty()) continue;
    const std::string label = brief_label_of(repeated.varied, others);
    const auto [at, fresh] = place.emplace(label, all.lines.size());
    if (fresh) all.lines.push_back({label, {}});
    all.lines[at->second].points.push_back(&repeated);
  }
  if (!all.along.empty())
    for (Line& line : all.lines)
      std::stable_sort(line.points.begin(), line.points.end(), [&](const Repeated* a, const Repeated* b) {
        return value_of(a->varied, all.along)->get<double>() < value_of(b->varied, all.along)->get<double>();
      });
  return all;
}

std::string left_out(const PlotRequest& request, const std::vector<std::string>& metrics) {
  std::size_t failed = 0;
  std::vector<std::size_t> without(metrics.size());
  for (const Repeated& repeated : request.points) {
    const std::size_t done = repeated.done().size();
    failed += repeated.points.size() - done;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (done > 0 && !std::isfinite(repeated.metric(metrics[i]).mean)) without[i] += done;
  }
  std::string text;
  const auto add = [&](std::size_t count, const std::string& what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "Left out: " : ", ", count, what);
  };
  add(failed, failed == 1 ? "point that failed" : "points that failed");
  for (std::size_t i = 0; i < metrics.size(); ++i) add(without[i], "without " + metric_title(metrics[i]));
  add(request.results.missing, "that have not run");
  return text;
}

void choose_shown(Lines& all, const std::string& x, const std::string& y) {
  if (all.lines.size() <= looks) return;
  std::vector<std::vector<double>> rows;
  std::vector<std::size_t> line_of;
  const auto cost = [](const Repeated& r, const std::string& name) {
    return less_is_better(name) ? r.metric(name).mean : -r.metric(name).mean;
  };
  for (std::size_t i = 0; i < all.lines.size(); ++i)
    for (const Repeated* point : all.lines[i].points)
      rows.push_back({cost(*point, x), cost(*point, y)}), line_of.push_back(i);
  struct Rank {
    int wins = 0;
    double best = -1e300;
  };
  std::vector<Rank> ranks(all.lines.size());
  const std::vector<bool> front = non_dominated(rows);
  for (std::size_t row = 0; row < rows.size(); ++row) ranks[line_of[row]].wins += front[row];
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (std::isfinite(rows[row][0]))
      ranks[line_of[row]].best = std::max(ranks[line_of[row]].best, -rows[row][0]);
  std::vector<std::size_t> order(all.lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(ranks[a].wins, ranks[a].best) > std::pair(ranks[b].wins, ranks[b].best);
  });
  for (std::size_t i = looks; i < order.size(); ++i) all.lines[order[i]].shown = false;
}

}  // namespace weir
