#pragma once
// The question that a user asks of `weir plan`: a scenario whose cluster and replicas may be left out, the
// devices at hand, and what is wanted of them. Read whole, with every problem at once; who enumerates
// (deployments.h) and who searches (search.h) ask it.
#include <optional>
#include <string>
#include <vector>

#include "sim/app/plan/demand.h"
#include "sim/app/plan/stock.h"
#include "sim/app/ranking/objective.h"
#include "sim/app/sweep/search/searches.h"
#include "sim/plan/scenario.h"

namespace weir {

struct PlanArguments {
  std::string file, devices, objective, out;
  std::vector<std::string> precisions;  // "weights=fp8,activations=fp8"
  int top = 10, jobs = 0;
  bool resume = false, quiet = false;
};

// Degrees that a layout may have; empty: any that the devices allow.
struct AllowedDegrees {
  std::vector<std::int64_t> tensor, pipeline, expert, attention_data;
};

// Groups of replicas of one role: what the scenario says of them, and what it leaves open.
struct RoleTemplate {
  std::string role;                  // both, prefill, decode
  Json replica = Json::object();     // without its role, count and parallelism
  AllowedDegrees degrees;            // those that the scenario's replica has, or `plan` allows
  std::optional<std::int64_t> most;  // replicas
  std::optional<std::string> device;
};

struct PlanQuestion {
  std::string file, name;
  std::set<std::filesystem::path> files;  // that runs read beside the scenario: traces, profiles, ...
  Json scenario;                          // with the whole cluster, without replicas and `plan`
  std::vector<Stock> stock;
  std::vector<RoleTemplate> roles;  // those that are open: a service is together or apart
  std::vector<Json> precisions;     // each whole, as a scenario has it
  std::vector<std::string> communications;
  std::vector<Json> tiers;  // kv_cache.tiers, each a list; empty: as the replicas have them
  Objective objective;
  SloTarget slo;
  std::int64_t top = 10;
  bool experts = false;  // the model has some
  Demand demand;
  std::vector<std::string> notes;

  const RoleTemplate* role(const std::string& name) const;
};

PlanQuestion read_question(const Json& document, const PlanArguments& arguments);

// "plan" of a scenario: what the user allows beyond one value a key. Its keys are described to users by
// docs/plan.md; a scenario that has it is for `weir plan`.
struct AllowedByPlan {
  std::string devices, objective;  // where the command line does not say them; "": it has to, or the default
  AllowedDegrees degrees;
  std::vector<Json> precisions, tiers;
  std::vector<std::string> communications;
  std::int64_t percentile = 99;

  static AllowedByPlan from(Params& params);
};
bool is_plan_question(const Json& document);

}  // namespace weir
