#include "sim/app/sweep/point_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
  std::vector<const RequestRecord*> sent;
  for (const RequestRecord& r : result.requests)
    if (r.request.arrival >= Seconds(0)) sent.push_back(&r);
  if (sent.empty()) return true;
  const auto arrival = [](const RequestRecord* r) { return r->request.arrival; };
  const auto [least, most] = std::ranges::minmax_element(sent, {}, arrival);
  const Seconds first = arrival(*least), last = arrival(*most);
  const Seconds middle = first + (last - first) / 2;
  double arrived = 0, begun = 0;
  for (const RequestRecord* r : sent) {
    if (r->status == RequestStatus::rejected) continue;
    arrived += arrival(r) > middle;
    begun += r->scheduled > middle && r->scheduled <= last;
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
  const Json tpot = summary["median_tpot_ms"];  // a copy: keys added below move what it stands in
  const bool has_tpot = tpot.is_number() && tpot.get<double>() > 0;
  summary["device_count"] = devices;
  summary["tokens_per_s_per_device"] = devices > 0 ? Json(throughput / devices) : Json(nullptr);
  summary["tokens_per_s_per_mm2"] = mm2 > 0 ? Json(throughput / mm2) : Json(nullptr);
  summary["tokens_per_s_per_user"] = has_tpot ? Json(1000 / tpot.get<double>()) : Json(nullptr);
  summary["joules_per_output_token"] = per_joule > 0 ? Json(1 / per_joule) : Json(nullptr);
}

// Counts late requests as they are answered, and stops the run that cannot meet its SLO any more: what those
// behind them do is no help to the ones that are late.
class LateOnes {
 public:
  LateOnes(const SloTarget& slo, const Workload& workload)
      : slo_(slo), allowed_(slo.may_be_late(std::ssize(workload.requests))) {}

  bool goes_on(const RequestRecord& record) {
    ++answered_;
    const Lateness of_record = slo_.lateness_of(record);
    first_tokens_ += of_record.first_token;
    next_tokens_ += of_record.next_tokens;
    return !too_many();
  }
  bool too_many() const { return late() > allowed_; }
  void tell(Json& summary) const {
    summary["given_up_after"] = answered_;
    summary["notes"].push_back(
        fmt::format("given up: {} of the first {} requests that were answered are late, "
                    "and {} may be of all",
                    late(), answered_, allowed_));
  }

 private:
  std::int64_t late() const { return std::max(first_tokens_, next_tokens_); }

  const SloTarget& slo_;
  std::int64_t allowed_, answered_ = 0, first_tokens_ = 0, next_tokens_ = 0;
};

Json simulate_point(const Json& document, const std::string& file, const SloTarget* slo,
                    bool give_up = false) {
  const Plan plan = read_plan(document, file);
  std::optional<LateOnes> late;
  RunOptions options;
  if (give_up) {
    late.emplace(*slo, plan.scenario.workload);
    options.answered = [&](const RequestRecord& record) { return late->goes_on(record); };
  }
  const Played played = play(plan, options);
  if (!played.served) return training_summary_json({plan, played.trained});
  const RunResult& result = *played.served;
  if (result.stopped) throw std::runtime_error(words_of_stop(result));
  const Metrics metrics = measure(result, plan.scenario.slo);
  const FinishedTraining training{plan, played.trained, &played.alone, &played.served_alone};
  Json summary = summary_json({plan, result, metrics, plan.training.empty() ? nullptr : &training});
  add_ratios(summary, result);
  if (slo) {
    summary["keeps_up"] = keeps_up(result) ? 1 : 0;
    summary["meets_slo"] = keeps_up(result) && slo->met_by(result) && !(late && late->too_many()) ? 1 : 0;
    if (late && late->too_many()) late->tell(summary);
  }
  return summary;
}

// A simulation needs a process of its own.
Json simulate_in_child(const Json& document, const std::string& file, const SloTarget& slo) {
  ChildResult ended;
  in_children(
      1, 1, [&](std::size_t) { return simulate_point(document, file, &slo).dump(); },
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

}  // namespace

Json run_point(const Sweep& sweep, const Point& point) {
  const std::string file = sweep.scenario_file.string();
  const Json scenario = scenario_of(sweep, point);
  const Searches& searches = sweep.searches;
  if (searches.capacity) return run_capacity_search(scenario, file, *searches.capacity);
  if (const auto& search = searches.cheapest)
    return simulate_point(scenario, file, &search->slo, search->give_up);
  return simulate_point(scenario, file, nullptr);
}

}  // namespace weir
