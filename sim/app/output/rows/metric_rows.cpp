#include "sim/app/output/rows/metric_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/app/output/rows/of_run.h"

namespace weir {
namespace {

// training_0_mean_step_ms: mean_step_ms of a job. "" of others.
std::string of_job(const std::string& name) {
  constexpr std::string_view prefix = "training_";
  if (!name.starts_with(prefix)) return "";
  const std::size_t end = name.find('_', prefix.size());
  const bool numbered = end != std::string::npos && end > prefix.size() &&
                        std::all_of(name.begin() + prefix.size(), name.begin() + static_cast<long>(end),
                                    [](unsigned char c) { return std::isdigit(c); });
  return numbered ? name.substr(end + 1) : "";
}

std::map<std::string, const MetricRow*> by_name(std::initializer_list<const std::vector<MetricRow>*> tables) {
  std::map<std::string, const MetricRow*> rows;
  for (const auto* table : tables)
    for (const MetricRow& row : *table) rows.emplace(row.name(), &row);
  return rows;
}

}  // namespace

std::string MetricRow::name() const {
  std::string name = path;
  std::ranges::replace(name, '.', '_');
  return name;
}

const std::vector<MetricRow>& serving_metrics() {
  static const std::vector<MetricRow> table = [] {
    std::vector<MetricRow> rows;
    add_request_metrics(rows);
    add_resource_metrics(rows);
    add_engine_metrics(rows);
    return rows;
  }();
  return table;
}

std::string MetricRow::heading() const {
  return unit.empty() ? title : fmt::format("{} ({})", title, unit);
}

std::vector<const MetricRow*> all_metrics() {
  std::vector<const MetricRow*> all;
  for (const auto* table : {&sweep_metrics(), &serving_metrics(), &training_metrics()})
    for (const MetricRow& row : *table) all.push_back(&row);
  return all;
}

const MetricRow* find_metric(const std::string& name) {
  static const auto rows = by_name({&serving_metrics(), &sweep_metrics()});
  static const auto of_jobs = by_name({&training_metrics()});
  const std::string job = of_job(name);
  const auto& table = job.empty() ? rows : of_jobs;
  const auto at = table.find(job.empty() ? name : job);
  return at == table.end() ? nullptr : at->second;
}

void write_metrics(Json& summary, const FinishedRun& run) {
  for (const MetricRow& row : serving_metrics()) {
    if (!row.of) continue;
    std::optional<Json> value = row.of(run);
    if (!value) continue;
    std::string pointer = "/" + row.path;
    std::ranges::replace(pointer, '.', '/');
    summary[Json::json_pointer(pointer)] = std::move(*value);
  }
}

}  // namespace weir
