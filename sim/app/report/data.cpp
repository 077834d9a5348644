// The data of a report, by columns. The summaries of a sweep's points are nearly equal - the resolved
// scenario is in each - so that each leaf of theirs is one column over all points, written once where its
// values are equal and once where another column has the same.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/app/output/rows/metric_rows.h"
#include "sim/app/ranking/answer.h"
#include "sim/app/report/page.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

const Json absent = Json(Json::value_t::discarded);  // of a point that has no such leaf

Json rounded(const Json& value) {
  return value.is_number_float() ? Json(significant(value.get<double>())) : value;
}

Json finite(double value) {
  return std::isfinite(value) ? Json(significant(value)) : Json();
}

class Columns {
 public:
  explicit Columns(std::size_t points) : points_(points) {}

  // Where the column stands in the list: {"all": value} or {"each": [values], "absent": [points]}.
  std::size_t add(const std::vector<Json>& values) {
    Json column;
    const bool equal = std::all_of(values.begin(), values.end(), [&](const Json& v) {
      return v.is_discarded() == values[0].is_discarded() && v == values[0];
    });
    if (equal && !values[0].is_discarded()) {
      column["all"] = values[0];
    } else {
      column["each"] = Json::array();
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].is_discarded()) column["absent"].push_back(i);
        column["each"].push_back(values[i].is_discarded() ? Json() : values[i]);
      }
    }
    const auto [known, is_new] = place_.try_emplace(dumped(column), list_.size());
    if (is_new) list_.push_back(std::move(column));
    return known->second;
  }
  std::vector<Json> none() const { return std::vector<Json>(points_, absent); }
  const Json& list() const { return list_; }

 private:
  std::size_t points_;
  Json list_ = Json::array();
  std::map<std::string, std::size_t> place_;  // by its text
};

// The values of all points under each name, the names in the order they are met.
class ByName {
 public:
  explicit ByName(const Columns& columns) : columns_(columns) {}
  void set(const std::string& name, std::size_t point, Json value) {
    const auto [known, is_new] = place_.try_emplace(name, named_.size());
    if (is_new) named_.emplace_back(name, columns_.none());
    named_[known->second].second[point] = std::move(value);
  }
  Json add_to(Columns& columns) const {  // [[name, column], ...]
    Json list = Json::array();
    for (const auto& [name, values] : named_) list.push_back({name, columns.add(values)});
    return list;
  }

 private:
  const Columns& columns_;
  std::vector<std::pair<std::string, std::vector<Json>>> named_;
  std::map<std::string, std::size_t> place_;
};

void set_leaves(ByName& leaves, std::size_t point, const Json::json_pointer& at, const Json& value) {
  if (!value.is_structured() || value.empty()) {
    const std::string pointer = at.to_string();
    return leaves.set(pointer, point, pointer.starts_with("/scenario/") ? value : rounded(value));
  }
  std::size_t index = 0;
  for (const auto& [key, below] : value.items())
    set_leaves(leaves, point, value.is_array() ? at / index++ : at / key, below);
}

// Null of what has neither; its place among the metrics that are shown first, null of others.
Json less_of(const MetricRow* row) {
  return row && row->better != Better::neither ? Json(row->better == Better::less) : Json(nullptr);
}
Json place_of(const MetricRow* row) {
  const std::vector<const MetricRow*> all = all_metrics();
  return row && row->is_first() ? Json(std::ranges::find(all, row) - all.begin()) : Json(nullptr);
}

// [[name, column, title, whether less is better, place], ...]
Json metrics_of(const ResultSet& results, Columns& columns) {
  ByName metrics(columns);
  const std::vector<std::string> names = metric_names(results);
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    if (results.points[i].summary.is_null()) continue;
    std::map<std::string, double> values;
    for (const auto& [name, value] : scalar_metrics(results.points[i].summary)) {
      values.emplace(name, value);
      metrics.set(name, i, finite(value));
    }
    for (const std::string& name : names)  // those made of others
      if (!values.contains(name)) metrics.set(name, i, finite(metric_of(results.points[i].summary, name)));
  }
  Json list = metrics.add_to(columns);
  for (Json& metric : list) {
    const std::string name = metric[0];
    metric.push_back(metric_title(name));
    metric.push_back(less_of(find_metric(name)));
    metric.push_back(place_of(find_metric(name)));
  }
  return list;
}

// By the number of repetitions less one: how many standard errors half a 95 % confidence interval is wide.
Json student_t(const ResultSet& results) {
  Json list = {nullptr};
  std::size_t most = 1;
  for (const Repeated& repeated : repetitions(results)) most = std::max(most, repeated.points.size());
  for (std::size_t n = 2; n <= most; ++n)
    list.push_back(boost::math::quantile(boost::math::students_t(static_cast<double>(n - 1)), 0.975));
  return list;
}

// Sets the winner, and the points in the order of the ranking.
void set_verdict(Json& data, const ResultSet& results) {
  const Ranking ranking = ranking_of(results);
  const std::vector<Repeated> rows = ranked(results, ranking);
  const SweepAnswer verdict = answer_of(results, ranking, rows);
  Json answers = Json::array();
  for (const Answer& answer : verdict.answers) answers.push_back({answer.winner, answer.next});
  data["verdict"] = {{"asked", verdict.asked}, {"answers", std::move(answers)}};
  data["ranked_by"] = ranking.marks;
  data["ranked_by"].push_back(ranking.metric);
  data["order"] = Json::array();
  for (const Repeated& row : rows)
    for (const PointResult* point : row.points) data["order"].push_back(point - results.points.data());
}

// By the metrics that it bounds, those of a run's curves among them.
Json slo_lines(const ResultSet& results) {
  const SloBounds slo = slo_of(results);
  std::vector<std::string> names = metric_names(results);
  names.insert(names.end(), {"ttft_ms", "tpot_ms"});
  Json lines = Json::object();
  for (const std::string& name : names)
    if (const std::optional<double> bound = slo.of(name)) lines[name] = *bound;
  return lines;
}

}  // namespace

double significant(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json report_data(const ResultSet& results) {
  Columns columns(results.points.size());
  ByName varied(columns), leaves(columns);
  const std::vector<std::string> names = short_names(results.varied);
  Json points = Json::array();
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const PointResult& point = results.points[i];
    points.push_back({{"index", point.index}, {"status", point.status}});
    if (!point.error.empty()) points.back()["error"] = point.error;
    for (const std::string& pointer : results.varied) {
      const Json* value = value_of(point.varied, pointer);
      varied.set(pointer, i, value ? *value : absent);
    }
    if (!point.summary.is_null()) set_leaves(leaves, i, Json::json_pointer(), point.summary);
  }
  Json data = {{"name", results.name}, {"version", WEIR_VERSION}, {"sweep", results.sweep}};
  data["missing"] = results.missing;
  data["short_names"] = names;
  data["varied"] = varied.add_to(columns);
  data["metrics"] = metrics_of(results, columns);
  data["leaves"] = leaves.add_to(columns);
  data["points"] = std::move(points);
  data["columns"] = columns.list();
  data["student_t"] = student_t(results);
  data["slo"] = slo_lines(results);
  if (results.sweep) set_verdict(data, results);
  if (!results.sweep) data["curves"] = run_curves(results.directory);
  return data;
}

}  // namespace weir
