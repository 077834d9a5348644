#include "sim/app/sweep/search/searches.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/metrics.h"
#include "sim/app/ranking/objective.h"
#include "sim/app/results/metric.h"
#include "sim/core/catalog.h"

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

constexpr Range<double> request_rates{1e-9, 1e9};  // as arrivals may have

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

Lateness SloTarget::lateness_of(const RequestRecord& r) const {
  if (!is_measured(r)) return {};
  const bool completed = r.status == RequestStatus::completed;
  const auto late = [&](const std::optional<double>& limit_ms, std::optional<Seconds> taken) {
    return limit_ms && (!completed || (taken && taken->value() * 1e3 > *limit_ms));
  };
  return {late(ttft_ms, completed ? std::optional(time_to_first_token(r)) : std::nullopt),
          late(tpot_ms, completed ? time_per_output_token(r) : std::nullopt)};
}

bool SloTarget::met_by(const RunResult& result) const {
  std::int64_t all = 0, completed = 0, timed = 0, first_late = 0, next_late = 0;
  for (const RequestRecord& r : result.requests) {
    if (!is_measured(r)) continue;
    ++all;
    const Lateness late = lateness_of(r);
    first_late += late.first_token;
    next_late += late.next_tokens;
    if (r.status != RequestStatus::completed) continue;
    ++completed;
    timed += time_per_output_token(r).has_value();
  }
  return (!ttft_ms || (completed > 0 && first_late <= may_be_late(all))) &&
         (!tpot_ms || (timed > 0 && next_late <= may_be_late(all)));
}

CapacitySearch CapacitySearch::from(Params& params) {
  CapacitySearch c;
  c.slo = SloTarget::from(params);
  c.precision =
      params.number({"precision", "Relative: the rate found meets the SLO, and one higher by this does not."},
                    {1e-4, 1}, 0.02);
  c.lowest =
      params.number({"from", "Lowest rate, tried first: a point that fails there has a capacity of 0."},
                    request_rates, 0.01);
  c.highest =
      params.number({"to", "Highest rate tried; a capacity above it is given as this."}, request_rates, 1e5);
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
  const std::vector<std::string> known = ranked_metrics();
  for (std::size_t i = 0; i < p.metrics.size() && !params.describing(); ++i)
    if (std::find(known.begin(), known.end(), p.metrics[i]) == known.end())
      params.fail(fmt::format("metrics/{}", i), no_such("metric", p.metrics[i], known));
  if (p.metrics.empty()) params.fail("metrics", "expected at least one metric");
  return p;
}

CheapestSearch CheapestSearch::from(Params& params) {
  CheapestSearch c;
  c.slo = SloTarget::from(params);
  std::string help = "What is least:";
  for (const Objective& o : objectives()) help += fmt::format(" {}, {};", o.name, o.summary);
  help += " between equal ones the lower mean end-to-end latency decides.";
  c.objective = params.choice({"objective", help.c_str()}, names_of(objectives()), objectives()[0].name);
  c.per = texts(params, per_key, {});
  c.give_up =
      params.flag({"give_up",
                   "Stop a point once more of its requests are late than may be of all; its metrics are "
                   "those of the requests until then (column given_up_after)."},
                  false);
  return c;
}

Searches Searches::from(Params& params) {
  Searches s;
  s.capacity = read_if_given<CapacitySearch>(
      params,
      {"capacity",
       "Find each point's highest arrival rate within an SLO, by rate_per_s of its arrivals or rate_scale "
       "of a trace; column capacity_rate_per_s."});
  s.pareto = read_if_given<ParetoSearch>(
      params, {"pareto", "Mark the points that no other beats in every metric; column pareto."});
  s.cheapest = read_if_given<CheapestSearch>(
      params, {"cheapest", "Mark the cheapest points that meet an SLO; columns meets_slo and cheapest."});
  for (std::size_t i = 0; s.pareto && i < s.pareto->metrics.size(); ++i)
    if (s.pareto->metrics[i] == "capacity_rate_per_s" && !s.capacity && !params.describing())
      params.fail(fmt::format("pareto/metrics/{}", i), "is known only of a sweep with capacity");
  if (s.capacity && s.cheapest && !params.describing())
    params.fail("cheapest", "looks for devices at a given load; capacity looks for the load");
  return s;
}

}  // namespace weir
