#include "sim/app/ranking/slo_bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/text_grid.h"

namespace weir {
namespace {

std::optional<double> number_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

SloBounds bounds_in(const Json& object) {
  return {number_at(object, "ttft_ms"), number_at(object, "tpot_ms"),
          static_cast<int>(number_at(object, "percentile").value_or(0))};
}

// The first point's that has one, or the sweep file's: summaries may have been read without scenarios.
Json scenario_slo(const ResultSet& results) {
  static const Json::json_pointer at("/scenario/slo");
  for (const PointResult& point : results.points)
    if (point.summary.is_object() && point.summary.contains(at)) return point.summary[at];
  return results.resolved.is_object() && results.resolved.contains(at) ? results.resolved[at] : Json();
}

}  // namespace

std::optional<double> SloBounds::of(const std::string& metric) const {
  if (metric.starts_with("std_")) return {};
  if (metric == "tokens_per_s_per_user" && tpot_ms) return 1e3 / *tpot_ms;
  if (metric.ends_with("_ttft_ms") || metric == "ttft_ms") return ttft_ms;
  if (metric.ends_with("_tpot_ms") || metric == "tpot_ms") return tpot_ms;
  return {};
}

SloBounds slo_of(const ResultSet& results) {
  for (const char* search : {"cheapest", "capacity"})
    if (results.resolved.is_object() && results.resolved.contains(search))
      if (const SloBounds slo = bounds_in(results.resolved[search])) return slo;
  const auto varies = [](const std::string& pointer) { return (pointer + "/").starts_with("/slo/"); };
  if (std::any_of(results.varied.begin(), results.varied.end(), varies)) return {};
  return bounds_in(scenario_slo(results));
}

std::string in_words(const SloBounds& slo) {
  std::string text =
      slo.percentile > 0 ? fmt::format("{} % of requests within", slo.percentile) : "requests within";
  if (!slo) return text + " their SLO";
  if (slo.ttft_ms) text += fmt::format(" TTFT {} ms", shown_number(*slo.ttft_ms, 6));
  if (slo.ttft_ms && slo.tpot_ms) text += " and";
  if (slo.tpot_ms) text += fmt::format(" TPOT {} ms", shown_number(*slo.tpot_ms, 6));
  return text;
}

}  // namespace weir
