#include "sim/app/sweep/search/search_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

std::vector<std::string> texts(Params& params, Key key, std::vector<std::string> fallback) {
  const Json* given = params.value(key, {{"type", "array"}, {"items", {{"type", "string"}}}}, Json(fallback));
  if (!given) return fallback;
  const auto is_text = [](const Json& v) { return v.is_string(); };
  if (given->is_array() && std::all_of(given->begin(), given->end(), is_text))
    return given->get<std::vector<std::string>>();
  params.fail(key.name, "expected a list of strings, got " + given->dump().substr(0, 60));
  return fallback;
}

const Key per_key = {"per", "Varied pointers: the search is made for each of their values apart."};

template <class Spec>
std::optional<Spec> read_if_given(Params& params, Key key) {
  if (params.describing() || params.has(key.name)) {
    Params object = params.object(key);
    return read_params<Spec>(std::move(object));
  }
  params.value(key, Json::object(), Json(nullptr));
  return {};
}

}  // namespace

SloTarget SloTarget::from(Params& params) {
  SloTarget slo;
  slo.ttft_ms = params.number_or_null({"ttft_ms", "Longest time to the first token."}, positive);
  slo.tpot_ms = params.number_or_null({"tpot_ms", "Longest mean time of a further token."}, positive);
  slo.percentile =
      params.integer({"percentile", "Of the requests, that meet each: 50, 90, 95 or 99."}, {50, 99}, 99);
  if (params.describing()) return slo;
  if (!slo.ttft_ms && !slo.tpot_ms) params.fail("", "expected ttft_ms, tpot_ms, or both");
  if (const auto p = slo.percentile; p != 50 && p != 90 && p != 95 && p != 99)
    params.fail("percentile", fmt::format("expected 50, 90, 95 or 99, got {}", p));
  return slo;
}

bool SloTarget::met_by(const Json& summary) const {
  const double completed = summary.at("completed"), failed = summary.at("failed");
  if (completed == 0 || failed > (completed + failed) * (1 - static_cast<double>(percentile) / 100))
    return false;
  const auto within = [&](const char* metric, std::optional<double> limit) {
    if (!limit) return true;
    const Json& value = summary.at(fmt::format("p{}_{}", percentile, metric));
    // No TPOT where every output is one token.
    return !value.is_number() || !(value.get<double>() > *limit);
  };
  return within("ttft_ms", ttft_ms) && within("tpot_ms", tpot_ms);
}

CapacitySearch CapacitySearch::from(Params& params) {
  CapacitySearch c;
  c.slo = SloTarget::from(params);
  c.precision =
      params.number({"precision", "Relative: the rate found meets the SLO, and one higher by this does not."},
                    {1e-4, 1}, 0.02);
  c.lowest =
      params.number({"from", "Lowest rate tried; one that fails there has a capacity of 0."}, positive, 0.01);
  c.highest =
      params.number({"to", "Highest rate tried; a capacity above it is given as this."}, positive, 1e5);
  c.duration_s = params.number_or_null({"duration_s",
                                        "Arrivals of each probe last about so long: requests.count becomes "
                                        "rate x duration_s, at least 100; null: "
                                        "the scenario's count at every rate."},
                                       positive);
  if (!params.describing() && c.lowest >= c.highest)
    params.fail("to", fmt::format("expected more than from ({}), got {}", c.lowest, c.highest));
  return c;
}

ParetoSearch ParetoSearch::from(Params& params) {
  ParetoSearch p;
  p.metrics = texts(params, {"metrics", "Names of metrics, the front's axes."},
                    {"tokens_per_s_per_device", "tokens_per_s_per_user",
                     "cost_dollars_per_million_output_tokens", "joules_per_output_token"});
  p.per = texts(params, per_key, {});
  std::vector<std::string> known = higher_is_better();
  known.insert(known.end(), lower_is_better().begin(), lower_is_better().end());
  for (std::size_t i = 0; i < p.metrics.size() && !params.describing(); ++i)
    if (std::find(known.begin(), known.end(), p.metrics[i]) == known.end())
      params.fail(fmt::format("metrics/{}", i), no_such("metric", p.metrics[i], known));
  if (p.metrics.empty()) params.fail("metrics", "expected at least one metric");
  return p;
}

CheapestSearch CheapestSearch::from(Params& params) {
  CheapestSearch c;
  c.slo = SloTarget::from(params);
  c.per = texts(params, per_key, {});
  return c;
}

Searches Searches::from(Params& params) {
  Searches s;
  s.capacity = read_if_given<CapacitySearch>(
      params,
      {"capacity", "Find each point's highest arrival rate within an SLO; column capacity_rate_per_s."});
  s.pareto = read_if_given<ParetoSearch>(
      params, {"pareto", "Mark the points that no other beats in every metric; column pareto."});
  s.cheapest = read_if_given<CheapestSearch>(
      params, {"cheapest",
               "Mark the points with the fewest devices that meet an SLO; columns meets_slo and cheapest."});
  for (std::size_t i = 0; s.pareto && i < s.pareto->metrics.size(); ++i)
    if (s.pareto->metrics[i] == "capacity_rate_per_s" && !s.capacity && !params.describing())
      params.fail(fmt::format("pareto/metrics/{}", i), "is known only of a sweep with capacity");
  if (s.capacity && s.cheapest && !params.describing())
    params.fail("cheapest", "looks for devices at a given load; capacity looks for the load");
  return s;
}

const std::vector<std::string>& higher_is_better() {
  static const std::vector<std::string> names = {
      "tokens_per_s_per_device", "tokens_per_s_per_user", "output_tokens_per_joule", "request_throughput",
      "request_goodput",         "output_throughput",     "total_token_throughput",  "capacity_rate_per_s"};
  return names;
}

const std::vector<std::string>& lower_is_better() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"cost_dollars_per_million_output_tokens",
                                    "joules_per_output_token",
                                    "device_count",
                                    "duration",
                                    "energy_j",
                                    "cost_dollars"};
    for (const char* metric : {"ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"})
      for (const char* statistic : {"mean", "median", "p90", "p95", "p99"})
        all.push_back(fmt::format("{}_{}", statistic, metric));
    return all;
  }();
  return names;
}

}  // namespace weir
