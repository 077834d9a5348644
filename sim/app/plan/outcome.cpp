#include "sim/app/plan/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "sim/app/output/text_grid.h"
#include "sim/app/plan/pool_options.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

std::optional<double> number_in(const Json& summary, const std::string& name) {
  const auto found = summary.find(name);
  return found != summary.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<double> spare_of(const std::optional<double>& taken, const std::optional<double>& allowed) {
  return taken && allowed ? std::optional(1 - *taken / *allowed) : std::nullopt;
}

// A summary says "arrivals" of whoever keeps up; what would be the limit with more of them is asked here.
std::string limit_of(const Json& summary) {
  const std::string by = summary.at("bound").at("by");
  if (by != "arrivals") return by;
  static constexpr std::array parts = {std::pair("compute", "compute_bound_s"),
                                       std::pair("memory", "memory_bound_s"),
                                       std::pair("links", "link_bound_s"), std::pair("host", "host_bound_s")};
  double most = 0;
  std::string limit = by;
  for (const auto& [word, key] : parts) {
    double s = 0;
    for (const Json& device : summary.at("devices"))
      s += device.at("devices").get<double>() * device.at(key).get<double>();
    if (s > most) most = s, limit = word;
  }
  return limit;
}

// How far a deployment is from its SLO: the larger of its times over what is allowed.
double worst_of(const RankedDeployment& row) {
  return std::max(-row.ttft_spare.value_or(-1), -row.tpot_spare.value_or(-1));
}

RankedDeployment row_of(const PlanQuestion& question, const Deployment& deployment,
                        const PointResult& point) {
  RankedDeployment row;
  row.deployment = &deployment;
  row.point = &point;
  const Json& summary = point.summary;
  row.objective = metric_of(summary, question.objective.metric);
  row.ttft_ms = number_in(summary, fmt::format("p{}_ttft_ms", question.slo.percentile));
  row.tpot_ms = number_in(summary, fmt::format("p{}_tpot_ms", question.slo.percentile));
  row.ttft_spare = spare_of(row.ttft_ms, question.slo.ttft_ms);
  row.tpot_spare = spare_of(row.tpot_ms, question.slo.tpot_ms);
  row.limited_by = limit_of(summary);
  row.meets_slo = summary.value("meets_slo", 0) == 1;
  return row;
}

// In flight by Little's law.
ServedLoad load_of(const Demand& demand, const RankedDeployment& row) {
  ServedLoad load{.input_tokens = demand.input_tokens / static_cast<double>(demand.requests),
                  .output_tokens = demand.mean_output(),
                  .longest = static_cast<double>(demand.longest),
                  .sessions = demand.sessions,
                  .begins_alike = demand.shares_prefixes,
                  .in_generation = demand.in_generation};
  const std::optional<double> rate = number_in(row.point->summary, "request_throughput"),
                              time = number_in(row.point->summary, "mean_e2el_ms");
  double replicas = 0;
  for (const ReplicaPool& pool : row.deployment->pools) replicas += static_cast<double>(pool.count);
  if (rate && time) load.in_flight = *rate * *time / 1e3 / replicas;
  return load;
}

void add_confidence(const PlanQuestion& question, RankedDeployment& row) {
  const Plan plan = read_plan(without_workload(question, row.deployment->precision, row.deployment->replicas),
                              question.file);
  const ServedLoad load = load_of(question.demand, row);
  for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
    row.confidence.of_pools.push_back(evidence_of(plan, i, load));
    if (const Calibration& own = plan.replicas[i].spec.calibration; own.given())
      row.confidence.calibration =
          fmt::format("a server with {} on {}{}", own.engine, own.device,
                      own.device == plan.replicas[i].rank.on->spec().kind ? "" : ": its host's times alone");
  }
}

}  // namespace

const Evidence& Confidence::worst() const {
  return *std::ranges::max_element(
      of_pools, {}, [](const Evidence& e) { return std::pair(e.nearness, e.tpot_error_percent()); });
}

std::string Confidence::brief() const {
  return (calibration ? "calibrated, " : "") + weir::brief(worst());
}

PlanOutcome outcome_of(const PlanQuestion& question, const Deployments& deployments,
                       const PlanSearch& found) {
  PlanOutcome outcome;
  std::vector<RankedDeployment> all;
  for (const PointResult& point : found.results.points)
    if (point.status == "done")
      all.push_back(row_of(question, deployments.all[static_cast<std::size_t>(point.index)], point));
  outcome.met = static_cast<std::size_t>(std::ranges::count_if(all, &RankedDeployment::meets_slo));
  if (outcome.met > 0) std::erase_if(all, [](const RankedDeployment& row) { return !row.meets_slo; });
  const auto place = [&](const RankedDeployment& row) {
    const auto [first, then] = place_by(row.objective, metric_of(row.point->summary, tie_metric));
    return outcome.met > 0 ? std::tuple(0.0, first, then) : std::tuple(worst_of(row), first, then);
  };
  std::ranges::stable_sort(all, {}, place);
  for (RankedDeployment& row : all) {
    std::optional<RankedDeployment>& best = row.deployment->apart() ? outcome.apart : outcome.together;
    if (outcome.met > 0 && !best) best = row;
    if (std::ssize(outcome.ranked) < question.top) outcome.ranked.push_back(row);
  }
  for (RankedDeployment& row : outcome.ranked) add_confidence(question, row);
  return outcome;
}

std::string verdict_of(const PlanQuestion& question, const PlanOutcome& outcome) {
  const auto value = [&](const RankedDeployment& row) {
    return fmt::format(fmt::runtime(question.objective.shown), shown_number(row.objective, 4));
  };
  if (!outcome.together && !outcome.apart) return "neither meets the SLO";
  if (!outcome.together || !outcome.apart) {
    const RankedDeployment& only = outcome.together ? *outcome.together : *outcome.apart;
    const bool open = question.role("both") && question.role("prefill");
    return fmt::format(
        "{}: {}, {}; {}", outcome.together ? "together" : "apart", only.deployment->name, value(only),
        open ? fmt::format("none that is {} meets the SLO", outcome.together ? "apart" : "together")
             : "the scenario leaves no choice");
  }
  const RankedDeployment *first = &*outcome.together, *second = &*outcome.apart;
  const auto place = [](const RankedDeployment& row) {
    return place_by(row.objective, metric_of(row.point->summary, tie_metric));
  };
  const bool together = place(*first) <= place(*second);
  if (!together) std::swap(first, second);
  const double gain = 1 - first->objective / second->objective;
  std::string by = fmt::format("by {:.0f} %", 100 * gain);
  if (place(*first).first == place(*second).first)
    by = fmt::format("at equal {}, with {} instead of {} ms end to end", question.objective.name,
                     shown_number(metric_of(first->point->summary, tie_metric), 4),
                     shown_number(metric_of(second->point->summary, tie_metric), 4));
  return fmt::format("{}, {}: {}, {}; the best {}: {}, {}", together ? "together" : "apart", by,
                     first->deployment->name, value(*first), together ? "apart" : "together",
                     second->deployment->name, value(*second));
}

}  // namespace weir
