#pragma once
// The options for a pool of replicas: each layout of a role on a kind of device that fits, with the bounds of
// one replica. deployments.cpp puts pools together.
#include "sim/app/plan/deployments.h"

namespace weir {

struct PoolOption {
  const RoleTemplate* role = nullptr;
  const Stock* stock = nullptr;
  DegreesOfLayout layout;
  std::size_t precision = 0;
  std::size_t tiers = 0;  // of the question's; where it has none, 0
  std::optional<ReplicaBounds> bounds;
  double dollars_per_hour = 0;  // of one device

  std::int64_t most() const {  // replicas
    return std::min(stock->count / layout.devices(), role->most.value_or(stock->count));
  }
  Json replica(const PlanQuestion& question, std::int64_t count) const;
  ReplicaPool pool(std::int64_t count) const { return {role->role, stock->kind, layout, count}; }
};

// The options of a role that fit and whose first token and next ones come in time where nobody else asks;
// `into` says why the others are left out.
std::vector<PoolOption> options_of(const PlanQuestion& question, const RoleTemplate& role, Deployments& into);

// The scenario with these replicas and one short request: what is wrong with it is not the workload.
Json without_workload(const PlanQuestion& question, const Json& precision, const Json& replicas);

}  // namespace weir
