#include <fmt/format.h>

#include "sim/app/plan/outcome.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json pool_json(const ReplicaPool& pool) {
  Json json = {{"role", pool.role},
               {"device", pool.kind},
               {"replicas", pool.count},
               {"tensor", pool.layout.tensor},
               {"pipeline", pool.layout.pipeline},
               {"expert", pool.layout.expert},
               {"attention_data", pool.layout.attention_data}};
  if (!pool.layout.communication.empty()) json["communication"] = pool.layout.communication;
  return json;
}

Json time_json(const std::optional<double>& ms, const std::optional<double>& allowed,
               const std::optional<double>& spare) {
  return {{"ms", json_or_null(ms)}, {"allowed_ms", json_or_null(allowed)}, {"spare", json_or_null(spare)}};
}

Json confidence_json(const Confidence& confidence) {
  Json nearest = Json::array();
  for (const Evidence& evidence : confidence.of_pools)
    nearest.push_back({{"word", to_string(evidence.nearness)},
                       {"measured", evidence.nearest.words()},
                       {"tpot_error_percent", evidence.tpot_error_percent()},
                       {"ttft_error_percent", json_or_null(evidence.ttft_error_percent())},
                       {"differs", evidence.differs}});
  return {{"nearest", std::move(nearest)}, {"calibration", json_or_null(confidence.calibration)}};
}

Json row_json(const PlanQuestion& question, const RankedDeployment& row, std::size_t rank) {
  Json pools = Json::array();
  for (const ReplicaPool& pool : row.deployment->pools) pools.push_back(pool_json(pool));
  Json json = {{"rank", rank},
               {"name", row.deployment->name},
               {"point", row.point->index},
               {"pools", std::move(pools)},
               {"precision", row.deployment->precision},
               {"devices", row.deployment->devices()},
               {"meets_slo", row.meets_slo}};
  for (const Objective& objective : objectives()) {
    const double value = metric_of(row.point->summary, objective.metric);
    json[objective.name] = std::isfinite(value) ? Json(value) : Json();
  }
  json["ttft"] = time_json(row.ttft_ms, question.slo.ttft_ms, row.ttft_spare);
  json["tpot"] = time_json(row.tpot_ms, question.slo.tpot_ms, row.tpot_spare);
  json["limited_by"] = row.limited_by;
  json["limited_why"] = row.point->summary.at("bound").at("reason");
  json["confidence"] = confidence_json(row.confidence);
  return json;
}

}  // namespace

Json plan_json(const PlanQuestion& question, const Deployments& deployments, const PlanSearch& found,
               const PlanOutcome& outcome) {
  Json stock = Json::array(), left_out = Json::array(), ranked = Json::array();
  for (const Stock& one : question.stock) stock.push_back({{"kind", one.kind}, {"count", one.count}});
  for (const LeftOutOfPlan& one : deployments.left_out)
    left_out.push_back(
        {{"what", one.what}, {"why", one.why}, {"count", one.count}, {"example", one.example}});
  for (std::size_t i = 0; i < outcome.ranked.size(); ++i)
    ranked.push_back(row_json(question, outcome.ranked[i], i + 1));
  const auto name = [](const std::optional<RankedDeployment>& best) {
    return best ? Json(best->deployment->name) : Json();
  };
  return {{"name", question.name},
          {"devices", std::move(stock)},
          {"objective", question.objective.name},
          {"slo",
           {{"ttft_ms", json_or_null(question.slo.ttft_ms)},
            {"tpot_ms", json_or_null(question.slo.tpot_ms)},
            {"percentile", question.slo.percentile}}},
          {"counts",
           {{"layouts", deployments.layouts},
            {"deployments", deployments.considered},
            {"run", found.counts.run},
            {"given_up", found.counts.given_up},
            {"failed", found.counts.failed},
            {"could_not_be_better", found.counts.not_needed},
            {"meet_slo", outcome.met},
            {"left_out", std::move(left_out)}}},
          {"ranked", std::move(ranked)},
          {"best_together", name(outcome.together)},
          {"best_apart", name(outcome.apart)},
          {"verdict", verdict_of(question, outcome)}};
}

}  // namespace weir
