#include "sim/app/sweep/search/conclude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/app/ranking/objective.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

// Points that differ in nothing but their seed.
struct Configuration {
  std::string group;  // values of the pointers in "per"
  std::vector<PointResult*> points;
  bool done = true;  // all of them
};

std::vector<Configuration> configurations(std::vector<PointResult>& points,
                                          const std::vector<std::string>& per) {
  std::map<std::string, std::size_t> index;
  std::vector<Configuration> all;
  for (PointResult& point : points) {
    Json rest = Json::array(), group = Json::array();
    for (const auto& [pointer, value] : point.varied) {
      if (pointer != "/seed") rest.push_back(value);
      if (std::find(per.begin(), per.end(), pointer) != per.end()) group.push_back(value);
    }
    const auto [it, fresh] = index.try_emplace(rest.dump(), all.size());
    if (fresh) all.push_back({group.dump(), {}, true});
    Configuration& c = all[it->second];
    c.points.push_back(&point);
    c.done = c.done && point.status == "done";
  }
  return all;
}

void mark(const Configuration& configuration, const char* column, bool value) {
  for (PointResult* point : configuration.points)
    if (point->status == "done") point->summary[column] = value ? 1 : 0;
}

double mean(const Configuration& configuration, const std::string& metric) {
  double sum = 0;
  for (const PointResult* point : configuration.points) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (configuration.done)
      for (const auto& [name, number] : scalar_metrics(point->summary))
        if (name == metric) value = number;
    sum += value;
  }
  return sum / static_cast<double>(configuration.points.size());
}

void mark_front(std::vector<PointResult>& points, const ParetoSearch& search) {
  std::map<std::string, std::vector<Configuration>> groups;
  for (Configuration& c : configurations(points, search.per)) groups[c.group].push_back(std::move(c));
  for (const auto& [name, group] : groups) {
    std::vector<std::vector<double>> rows;
    for (const Configuration& c : group) {
      rows.emplace_back();
      for (const std::string& metric : search.metrics) {
        rows.back().push_back(less_is_better(metric) ? mean(c, metric) : -mean(c, metric));
      }
    }
    const std::vector<bool> best = non_dominated(rows);
    for (std::size_t i = 0; i < group.size(); ++i) mark(group[i], "pareto", best[i]);
  }
}

bool meets_slo(const Configuration& c) {
  return c.done && std::all_of(c.points.begin(), c.points.end(),
                               [](const PointResult* p) { return p->summary.at("meets_slo") == 1; });
}

void mark_cheapest(std::vector<PointResult>& points, const CheapestSearch& search) {
  const std::string& metric = objective_of(search.objective).metric;
  const auto place = [&](const Configuration& c) { return place_by(mean(c, metric), mean(c, tie_metric)); };
  const auto judged = [&](const Configuration& c) { return meets_slo(c) && std::isfinite(place(c).first); };
  std::vector<Configuration> all = configurations(points, search.per);
  std::map<std::string, std::pair<double, double>> least;  // by group
  for (const Configuration& c : all)
    if (judged(c)) {
      const auto [it, fresh] = least.try_emplace(c.group, place(c));
      it->second = std::min(it->second, place(c));
    }
  for (const Configuration& c : all) mark(c, "cheapest", judged(c) && place(c) == least.at(c.group));
}

}  // namespace

std::vector<std::string> conclude(const Searches& searches, std::vector<PointResult>& points) {
  if (searches.pareto) mark_front(points, *searches.pareto);
  if (searches.cheapest) mark_cheapest(points, *searches.cheapest);
  std::vector<std::string> columns;
  if (searches.pareto) columns.emplace_back("pareto");
  if (searches.cheapest) columns.emplace_back("cheapest");
  return columns;
}

std::vector<std::string> metrics_of(const Searches& searches) {
  std::vector<std::string> metrics;
  if (searches.pareto) metrics = searches.pareto->metrics;
  if (searches.cheapest)
    metrics.insert(metrics.end(),
                   {"meets_slo", objective_of(searches.cheapest->objective).metric, tie_metric});
  return metrics;
}

}  // namespace weir
