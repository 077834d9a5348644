#pragma once
// The deployments that a plan found, ranked: for its table (plan_table.cpp) and plan.json (plan_json.cpp).
#include <optional>
#include <string>
#include <vector>

#include "sim/app/evidence/evidence.h"
#include "sim/app/plan/search.h"

namespace weir {

struct Confidence {
  std::vector<Evidence> of_pools;          // by replica group
  std::optional<std::string> calibration;  // the server that engine.calibration is of

  const Evidence& worst() const;
  std::string brief() const;  // for a column
};

struct RankedDeployment {
  const Deployment* deployment = nullptr;
  const PointResult* point = nullptr;
  double objective = 0;
  std::optional<double> ttft_ms, tpot_ms;        // at the SLO's percentile
  std::optional<double> ttft_spare, tpot_spare;  // of what the SLO allows: 0.25 is a quarter
  std::string limited_by;                        // what most of the devices' step time goes to
  bool meets_slo = false;
  Confidence confidence;
};

struct PlanOutcome {
  std::vector<RankedDeployment> ranked;  // that meet the SLO, best first; where none does, the nearest ones
  std::size_t met = 0;                   // how many do; more than `top` may
  std::optional<RankedDeployment> together, apart;  // the best of each
};

PlanOutcome outcome_of(const PlanQuestion& question, const Deployments& deployments, const PlanSearch& found);

// "together, by 33 %: ..."
std::string verdict_of(const PlanQuestion& question, const PlanOutcome& outcome);

std::string plan_table(const PlanQuestion& question, const Deployments& deployments, const PlanSearch& found,
                       const PlanOutcome& outcome, bool styled, std::size_t width);
Json plan_json(const PlanQuestion& question, const Deployments& deployments, const PlanSearch& found,
               const PlanOutcome& outcome);

}  // namespace weir
