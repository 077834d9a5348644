#include "sim/app/ranking/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/app/ranking/objective.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

// The search of a sweep file with its defaults; null where it has none.
Json search_in(const ResultSet& results, const char* name) {
  return results.resolved.is_object() ? results.resolved.value(name, Json()) : Json();
}

bool any_has(const ResultSet& results, const char* metric) {
  return std::any_of(results.points.begin(), results.points.end(), [&](const PointResult& point) {
    return point.status == "done" && std::isfinite(metric_of(point.summary, metric));
  });
}

}  // namespace

Ranking ranking_of(const ResultSet& results) {
  if (const Json search = search_in(results, "cheapest"); search.is_object()) {
    const Objective& objective = objective_of(search.at("objective"));
    return {{"cheapest", "meets_slo"}, objective.metric, objective.shown};
  }
  if (search_in(results, "capacity").is_object()) return {{}, "capacity_rate_per_s", "{} requests/s"};
  const Json front = search_in(results, "pareto");
  const std::vector<std::string> marks(front.is_object() ? 1 : 0, "pareto");
  if (any_has(results, "request_goodput")) return {marks, "request_goodput", "{} good requests/s"};
  if (front.is_object()) return {marks, front.at("metrics").at(0), "{}"};
  if (trains(results)) return {{}, "training_0_samples_per_s", "{} samples/s"};
  return {{}, "output_throughput", "{} output tokens/s"};
}

std::vector<Repeated> ranked(const ResultSet& results, const Ranking& ranking) {
  std::vector<Repeated> rows = repetitions(results);
  std::vector<std::vector<double>> places;  // the less, the better
  for (const Repeated& row : rows) {
    std::vector<double>& place = places.emplace_back();
    for (const std::string& mark : ranking.marks) place.push_back(row.metric(mark).mean == 1 ? 0 : 1);
    const double value = row.metric(ranking.metric).mean;
    const auto [first, then] =
        place_by(less_is_better(ranking.metric) ? value : -value, row.metric(tie_metric).mean);
    place.insert(place.end(), {first, then});
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return places[a] < places[b]; });
  std::vector<Repeated> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(rows[i]));
  return sorted;
}

std::vector<std::string> metrics_of_rankings() {
  std::vector<std::string> metrics = {"cheapest",
                                      "meets_slo",
                                      "capacity_rate_per_s",
                                      "pareto",
                                      "request_goodput",
                                      "output_throughput",
                                      tie_metric,
                                      "training_0_samples_per_s",
                                      "training_0_mean_step_ms",
                                      "training_0_energy_j"};
  for (const Objective& objective : objectives()) metrics.push_back(objective.metric);
  return metrics;
}

}  // namespace weir
