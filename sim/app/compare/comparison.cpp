#include "sim/app/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "sim/app/results/labels.h"

namespace weir {
namespace {

const Json* scenario_of(const Repeated& repeated) {
  const auto done = repeated.done();
  return done.empty() || !done[0]->summary.contains("scenario") ? nullptr : &done[0]->summary["scenario"];
}

// The value of a pointer that another set varies and this one may not.
Json value_at(const Repeated& repeated, const std::string& pointer) {
  if (const Json* value = value_of(repeated.varied, pointer)) return *value;
  const Json* scenario = scenario_of(repeated);
  const Json::json_pointer at(pointer);
  return scenario && scenario->contains(at) ? scenario->at(at) : Json(nullptr);
}

std::string comparable(const Json& value) {  // 8 and 8.0 are the same value
  return value.is_number() ? Json(value.get<double>()).dump() : value.dump();
}

Varied values_at(const Repeated& repeated, const std::vector<std::string>& pointers) {
  Varied varied;
  for (const std::string& pointer : pointers) varied.emplace_back(pointer, value_at(repeated, pointer));
  return varied;
}

std::string key_of(const Varied& varied) {
  std::string key;
  for (const auto& [pointer, value] : varied) key += comparable(value) + "\n";
  return key;
}

std::vector<std::string> varied_pointers(const std::vector<ResultSet>& sets) {
  std::vector<std::string> pointers;
  for (const ResultSet& set : sets)
    for (const std::string& pointer : set.varied)
      if (pointer != "/seed" && std::find(pointers.begin(), pointers.end(), pointer) == pointers.end())
        pointers.push_back(pointer);
  return pointers;
}

std::vector<ComparedMetric> metrics_of(const std::vector<const Repeated*>& results) {
  std::vector<std::string> names;
  for (const Repeated* repeated : results) {
    const auto done = repeated->done();
    if (done.empty()) continue;
    for (const auto& [name, value] : scalar_metrics(done[0]->summary)) names.push_back(name);
    break;
  }
  std::vector<std::map<std::string, std::vector<double>>> values(results.size());
  for (std::size_t set = 0; set < results.size(); ++set)
    for (const PointResult* point : results[set]->done())
      for (const auto& [name, value] : scalar_metrics(point->summary))
        if (std::isfinite(value)) values[set][name].push_back(value);
  std::vector<ComparedMetric> metrics;
  for (const std::string& name : names) {
    ComparedMetric metric{name, {}};
    for (auto& of_set : values) metric.values.push_back(estimate(of_set[name]));
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void match(Comparison& c) {
  const std::vector<std::string> pointers = varied_pointers(c.sets);
  std::vector<std::map<std::string, const Repeated*>> by_values(c.sets.size());
  for (std::size_t set = 0; set < c.sets.size(); ++set)
    for (const Repeated& repeated : c.repeated[set])
      by_values[set].emplace(key_of(values_at(repeated, pointers)), &repeated);
  std::set<std::string> matched;
  for (const Repeated& first : c.repeated[0]) {
    const Varied varied = values_at(first, pointers);
    const std::string key = key_of(varied);
    std::vector<const Repeated*> results;
    for (const auto& of_set : by_values)
      if (const auto at = of_set.find(key); at != of_set.end()) results.push_back(at->second);
    if (results.size() < c.sets.size() || !matched.insert(key).second) continue;
    c.points.push_back({varied, results, metrics_of(results)});
  }
  c.unmatched.resize(c.sets.size());
  for (std::size_t set = 0; set < c.sets.size(); ++set)
    for (const Repeated& repeated : c.repeated[set])
      if (!matched.contains(key_of(values_at(repeated, pointers))))
        c.unmatched[set].push_back(repeated.varied);
}

using Flat = std::map<std::string, Json>;

Flat flat_scenario(const Repeated& repeated, bool seeds) {
  const Json* scenario = scenario_of(repeated);
  Flat flat;
  if (!scenario) return flat;
  const Json flattened = scenario->flatten();
  for (const auto& [pointer, value] : flattened.items())
    if (pointer != "/name" && !(seeds && pointer == "/seed")) flat[pointer] = value;
  return flat;
}

// The rows of results that are compared for what differs; of sets that share no point, their first ones.
std::vector<std::vector<const Repeated*>> rows_of(const Comparison& c) {
  std::vector<std::vector<const Repeated*>> rows;
  for (const ComparedPoint& point : c.points)
    if (std::all_of(point.results.begin(), point.results.end(), [](auto* r) { return scenario_of(*r); }))
      rows.push_back(point.results);
  if (!rows.empty()) return rows;
  rows.emplace_back();
  for (const auto& of_set : c.repeated) {
    const auto at = std::find_if(of_set.begin(), of_set.end(), scenario_of);
    if (at == of_set.end()) return {};
    rows[0].push_back(&*at);
  }
  return rows;
}

void find_differences(Comparison& c) {
  const bool seeds = c.repetitions();
  std::map<std::string, std::vector<Json>> differences;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::set<std::string>>> seen;  // per set, over all rows
  for (const auto& row : rows_of(c)) {
    std::vector<Flat> flat;
    std::set<std::string> pointers;
    for (const Repeated* repeated : row) flat.push_back(flat_scenario(*repeated, seeds));
    for (const Flat& one : flat)
      for (const auto& [pointer, value] : one) pointers.insert(pointer);
    for (const std::string& pointer : pointers) {
      std::vector<Json> values;
      for (const Flat& one : flat) values.push_back(one.contains(pointer) ? one.at(pointer) : Json(nullptr));
      auto& values_seen = seen[pointer];
      values_seen.resize(row.size());
      for (std::size_t set = 0; set < row.size(); ++set) values_seen[set].insert(comparable(values[set]));
      const auto same = [&](const Json& v) { return comparable(v) == comparable(values[0]); };
      if (!std::all_of(values.begin(), values.end(), same)) differences.emplace(pointer, values);
    }
  }
  for (auto& [pointer, values] : differences) {
    for (std::size_t set = 0; set < values.size(); ++set)
      if (seen[pointer][set].size() > 1) values[set] = "several";
    c.differences.push_back({pointer, values});
  }
}

}  // namespace

double ComparedMetric::ratio(std::size_t set) const {
  const double base = values[0].mean, value = values[set].mean;
  if (base == value) return 1;  // 0 preemptions in both
  return base == 0 ? std::numeric_limits<double>::quiet_NaN() : value / base;
}

Verdict ComparedMetric::verdict(std::size_t set) const {
  const Estimate &a = values[0], &b = values[set];
  if (a.count < 2 || b.count < 2) return Verdict::unknown;
  return overlap(a, b) ? Verdict::noise : Verdict::real;
}

bool Comparison::repetitions() const {
  for (const auto& of_set : repeated)
    for (const Repeated& r : of_set)
      if (r.points.size() > 1) return true;
  return false;
}

Comparison compare(std::vector<ResultSet> sets) {
  Comparison c;
  c.sets = std::move(sets);
  for (const ResultSet& set : c.sets) c.repeated.push_back(repetitions(set));
  match(c);
  find_differences(c);
  return c;
}

namespace {

Json object_of(const Varied& varied) {
  Json object = Json::object();
  for (const auto& [pointer, value] : varied) object[pointer] = value;
  return object;
}

Json metric_json(const ComparedMetric& metric) {
  Json json = {{"mean", Json::array()},
               {"half_width", Json::array()},
               {"ratio", Json::array()},
               {"noise", Json::array()}};
  for (std::size_t set = 0; set < metric.values.size(); ++set) {
    json["mean"].push_back(metric.values[set].mean);
    json["half_width"].push_back(metric.values[set].half_width);
    json["ratio"].push_back(metric.ratio(set));
    const Verdict verdict = metric.verdict(set);
    json["noise"].push_back(set == 0 || verdict == Verdict::unknown ? Json(nullptr)
                                                                    : Json(verdict == Verdict::noise));
  }
  return json;
}

Json point_json(const ComparedPoint& point) {
  Json json = {{"varied", object_of(point.varied)}, {"points", Json::array()}, {"done", Json::array()}};
  for (const Repeated* repeated : point.results) {
    json["points"].push_back(repeated->points.size());
    json["done"].push_back(repeated->done().size());
  }
  json["metrics"] = Json::object();
  for (const ComparedMetric& metric : point.metrics) json["metrics"][metric.name] = metric_json(metric);
  return json;
}

}  // namespace

Json comparison_json(const Comparison& c) {
  Json json = {{"sets", Json::array()}, {"differences", Json::array()}, {"points", Json::array()}};
  for (std::size_t set = 0; set < c.sets.size(); ++set) {
    Json unmatched = Json::array();
    for (const Varied& varied : c.unmatched[set]) unmatched.push_back(object_of(varied));
    const auto failed = std::count_if(c.sets[set].points.begin(), c.sets[set].points.end(),
                                      [](const PointResult& p) { return p.status != "done"; });
    json["sets"].push_back({{"directory", c.sets[set].directory.string()},
                            {"name", c.sets[set].name},
                            {"sweep", c.sets[set].sweep},
                            {"points", c.sets[set].points.size()},
                            {"failed", failed},
                            {"unmatched", unmatched}});
  }
  for (const Difference& d : c.differences)
    json["differences"].push_back({{"pointer", d.pointer}, {"values", d.values}});
  for (const ComparedPoint& point : c.points) json["points"].push_back(point_json(point));
  return json;
}

}  // namespace weir
