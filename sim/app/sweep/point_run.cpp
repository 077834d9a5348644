#include "sim/app/sweep/point_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <stdexcept>

#include "sim/app/child_process.h"
#include "sim/app/output/metrics.h"
#include "sim/app/output/training/training_writers.h"
#include "sim/app/output/writers.h"
#include "sim/app/play.h"
#include "sim/app/sweep/search/capacity.h"
#include "sim/app/sweep/search/offered_load.h"
#include "sim/serving/simulation.h"

namespace weir {
namespace {

// Does service keep up with the arrivals? A queue that grows without bound shows in how many requests begin
// to be served in the second half of the arrivals, beside how many arrive in it: at load 1 + e only 1 in 1 +
// e do. What may be missing is two standard deviations of a Poisson count, so that chance is not taken for
// growth; the longer the run, the sharper the answer.
bool keeps_up(const RunResult& result) {
  if (result.requests.empty()) return true;
  const auto arrival = [](const RequestRecord& r) { return r.request.arrival; };
  const auto was_sent = [&](const RequestRecord& r) { return arrival(r) >= Seconds(0); };
  auto sent = result.requests | std::views::filter(was_sent);
  if (sent.empty()) return true;
  const auto [least, most] = std::ranges::minmax_element(sent, {}, arrival);
  const Seconds first = arrival(*least), last = arrival(*most);
  const Seconds middle = first + (last - first) / 2;
  double arrived = 0, begun = 0;
  for (const RequestRecord& r : sent) {
    if (r.status == RequestStatus::rejected) continue;
    arrived += r.request.arrival > middle;
    begun += r.scheduled > middle && r.scheduled <= last;
  }
  return begun >= arrived - 2 * std::sqrt(arrived);
}

void add_ratios(Json& summary, const RunResult& result) {
  int devices = 0;
  double mm2 = 0;  // NaN where one of them is not known
  for (const DeviceUsage& usage : result.devices) {
    devices += usage.devices;
    mm2 += usage.devices * usage.die_mm2.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  const double throughput = summary["output_throughput"], per_joule = summary["output_tokens_per_joule"];
  const Json& tpot = summary["median_tpot_ms"];
  const bool has_tpot = tpot.is_number() && tpot.get<double>() > 0;
  summary["device_count"] = devices;
  summary["tokens_per_s_per_device"] = devices > 0 ? Json(throughput / devices) : Json(nullptr);
  summary["tokens_per_s_per_mm2"] = mm2 > 0 ? Json(throughput / mm2) : Json(nullptr);
  summary["tokens_per_s_per_user"] = has_tpot ? Json(1000 / tpot.get<double>()) : Json(nullptr);
  summary["joules_per_output_token"] = per_joule > 0 ? Json(1 / per_joule) : Json(nullptr);
}

// In the summary of a probe alone.
constexpr const char* late_requests = "late_requests";

Json simulate_point(const Json& document, const std::string& file, const SloTarget* slo, bool probe = false) {
  const Plan plan = read_plan(document, file);
  const Played played = play(plan, {});
  if (!played.served) return training_summary_json({plan, played.trained});
  const RunResult& result = *played.served;
  if (result.stopped) throw std::runtime_error(words_of_stop(result));
  const Metrics metrics = measure(result, plan.scenario.slo);
  const FinishedTraining training{plan, played.trained, &played.alone, &played.served_alone};
  Json summary = summary_json({plan, result, metrics, plan.training.empty() ? nullptr : &training});
  add_ratios(summary, result);
  // Of sessions `count` says another thing.
  if (probe) summary[late_requests] = plan.scenario.workload.sessions ? 0 : slo->late_of(result);
  if (slo) {
    summary["keeps_up"] = keeps_up(result) ? 1 : 0;
    summary["meets_slo"] = keeps_up(result) && slo->met_by(result) ? 1 : 0;
  }
  return summary;
}

// A simulation needs a process of its own.
Json simulate_in_child(const Json& document, const std::string& file, const SloTarget& slo,
                       bool probe = false) {
  ChildResult ended;
  in_children(
      1, 1, [&](std::size_t) { return simulate_point(document, file, &slo, probe).dump(); },
      [&](std::size_t, ChildResult result) {
        ended = std::move(result);
        return true;
      });
  if (!ended.error.empty()) throw std::runtime_error(ended.error);
  return parse_json(ended.output, "summary");
}

// The lowest rate is asked of as many requests as the start: of a hundred, two long prompts would give up a
// layout that serves 99 % of thousands in time.
Json at_rate(Json document, const CapacitySearch& search, const OfferedLoad& load, double rate) {
  constexpr double fewest_requests = 100;  // of which a 99th percentile is still one of them
  load.set(document, rate);
  const double counted = rate > search.lowest ? rate : std::max(rate, load.rate_per_s());
  if (search.duration_s)
    document["workload"]["requests"]["count"] =
        static_cast<std::int64_t>(std::max(fewest_requests, std::ceil(counted * *search.duration_s)));
  return document;
}

Json run_capacity_search(const Json& document, const std::string& file, CapacitySearch search) {
  const OfferedLoad load(document, file);
  if (load.traced()) {
    search.lowest = std::max(search.lowest, load.rate_of(1 / OfferedLoad::most_scaled));
    search.highest = std::min(search.highest, load.rate_of(OfferedLoad::most_scaled));
  }
  Json best;  // summary of the highest rate that was met, or of the only one tried
  const auto met = [&](double rate) {
    Json summary = simulate_in_child(at_rate(document, search, load, rate), file, search.slo);
    const bool good = summary["meets_slo"] == 1;
    if (good || best.is_null()) best = std::move(summary);
    return good;
  };
  const CapacityFound found = find_capacity(search, load.rate_per_s(), met);
  Json summary = std::move(best);
  summary["capacity_rate_per_s"] = found.rate;
  if (load.traced()) summary["capacity_rate_scale"] = load.scale_of(found.rate);
  summary["capacity_probes"] = found.probes;
  if (found.limited)
    summary["notes"].push_back(fmt::format(
        "capacity: the SLO is still met at the highest rate that the sweep tries, {}/s", found.rate));
  if (found.rate == 0)
    summary["notes"].push_back(
        fmt::format("capacity: the SLO is missed even at {}/s, the lowest rate that the sweep tries; its "
                    "metrics are shown",
                    search.lowest));
  return summary;
}

// The same requests come at the same times, whatever comes behind them: to those that are late already more
// cannot be a help. None where requests wait for others, or nobody says how many there are.
std::vector<std::int64_t> probes(const Json& scenario, const SloTarget& slo) {
  constexpr std::int64_t fewest = 20;
  const Json& requests = scenario.at("workload").at("requests");
  const Json& arrivals = scenario.at("workload").at("arrivals");
  const std::string kind = arrivals.value("kind", "trace");
  if (kind != "poisson" && kind != "gamma" && kind != "constant" && kind != "trace") return {};
  const bool counts = requests.contains("count") && requests["count"].is_number_integer();
  if (!counts || arrivals.value("warmup_requests", 0) != 0) return {};
  const auto count = requests["count"].get<std::int64_t>();
  std::vector<std::int64_t> sizes;
  for (const std::int64_t share : {20, 5})  // the first tells who is too slow, the second whose queue grows
    if (const std::int64_t first = std::max(fewest, count / share);
        first > 2 * slo.may_be_late(count) && 2 * first <= count && (sizes.empty() || first > sizes.back()))
      sizes.push_back(first);
  return sizes;
}

// None where the point may meet the SLO yet.
std::optional<Json> given_up(Json scenario, const std::string& file, const CheapestSearch& search) {
  if (!search.probe) return {};
  const std::vector<std::int64_t> sizes = probes(scenario, search.slo);
  if (sizes.empty()) return {};
  Json& count = scenario["workload"]["requests"]["count"];
  const std::int64_t allowed = search.slo.may_be_late(count.get<std::int64_t>());
  for (const std::int64_t first : sizes) {
    count = first;
    Json summary = simulate_in_child(scenario, file, search.slo, true);
    const std::int64_t late = summary[late_requests];
    summary.erase(late_requests);
    if (late <= allowed) continue;
    summary["given_up_after"] = first;
    summary["meets_slo"] = 0;
    summary["notes"].push_back(fmt::format(
        "given up: {} of the first {} requests are late, and {} may be of all", late, first, allowed));
    return summary;
  }
  return {};
}

Json run_cheapest(const Json& scenario, const std::string& file, const CheapestSearch& search) {
  std::optional<Json> early = given_up(scenario, file, search);
  return early ? std::move(*early) : simulate_point(scenario, file, &search.slo);
}

}  // namespace

Json run_point(const Sweep& sweep, const Point& point) {
  const std::string file = sweep.scenario_file.string();
  const Json scenario = scenario_of(sweep, point);
  const Searches& searches = sweep.searches;
  if (searches.capacity) return run_capacity_search(scenario, file, *searches.capacity);
  if (searches.cheapest) return run_cheapest(scenario, file, *searches.cheapest);
  return simulate_point(scenario, file, nullptr);
}

}  // namespace weir
