#include "sim/app/results/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/app/output/rows/metric_rows.h"

namespace weir {
namespace {

double plain(const Json& summary, const std::string& name) {
  for (const auto& [metric, value] : scalar_metrics(summary))
    if (metric == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

bool serves(const Json& summary) {
  return summary.contains("output_throughput");
}

}  // namespace

double metric_of(const Json& summary, const std::string& name) {
  const MetricRow* row = find_metric(name);
  return row && row->made && !summary.contains(name) ? row->made(summary) : plain(summary, name);
}

bool trains(const ResultSet& results) {
  return std::ranges::any_of(results.points, [](const PointResult& point) {
    return point.status == "done" && !serves(point.summary) &&
           std::isfinite(plain(point.summary, "training_0_samples_per_s"));
  });
}

std::vector<std::string> metric_names(const ResultSet& results) {
  std::vector<std::string> names;
  for (const PointResult& point : results.points) {
    if (point.status != "done") continue;
    for (const auto& [name, value] : scalar_metrics(point.summary)) names.push_back(name);
    for (const MetricRow& row : sweep_metrics())
      if (row.made && serves(point.summary) && !point.summary.contains(row.name()))
        names.push_back(row.name());
    break;
  }
  return names;
}

std::string metric_title(const std::string& name) {
  if (const MetricRow* row = find_metric(name)) {
    constexpr std::size_t prefix = std::string_view("training_").size();
    const std::size_t job = name.size() - row->name().size();  // where what is behind training_0_ begins
    return job == 0 ? row->heading()
                    : fmt::format("Job {}: {}", name.substr(prefix, job - prefix - 1), row->heading());
  }
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::string metric_column(const std::string& name) {
  const MetricRow* row = find_metric(name);
  return row && !row->column.empty() ? row->column : name;
}

std::string with_dollars(const std::string& name, const std::string& number) {
  return name.find("dollars") != std::string::npos && number != "-" ? "$" + number : number;
}

bool less_is_better(const std::string& name) {
  const MetricRow* row = find_metric(name);
  return row && row->better == Better::less;
}

std::vector<std::string> ranked_metrics() {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<MetricRow>& table, const std::string& before) {
    for (const MetricRow& row : table)
      if (row.is_ranked()) names.push_back(before + row.name());
  };
  add(sweep_metrics(), "");
  add(serving_metrics(), "");
  add(training_metrics(), "training_0_");
  return names;
}

std::vector<bool> non_dominated(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> order(points.size()), front;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) {
    return std::any_of(points[i].begin(), points[i].end(), [](double v) { return std::isnan(v); });
  });
  // Whatever beats a point comes before it in this order, and if it is no front itself, is beaten by one.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> best(points.size(), false);
  for (const std::size_t i : order) {
    const auto beats = [&](std::size_t f) {
      return points[f] != points[i] && std::equal(points[f].begin(), points[f].end(), points[i].begin(),
                                                  [](double a, double b) { return a <= b; });
    };
    if (std::any_of(front.begin(), front.end(), beats)) continue;
    front.push_back(i);
    best[i] = true;
  }
  return best;
}

}  // namespace weir
