#pragma once
// Every way to serve a question's scenario with the devices at hand: layouts, numbers of replicas, prompts
// and generation together or apart. What does not fit the devices' memory, and what by bounds cannot meet the
// SLO under the load, is left out here, before anything runs.
#include <string>
#include <vector>

#include "sim/app/plan/question.h"

namespace weir {

struct DegreesOfLayout {
  std::int64_t tensor = 1, pipeline = 1, expert = 1, attention_data = 1;
  std::string communication;  // "": as the replica has it

  std::int64_t devices() const { return tensor * attention_data * pipeline; }
  std::string words() const;  // TP4 PP2
};

// Alike replicas of a deployment.
struct ReplicaPool {
  std::string role, kind;
  DegreesOfLayout layout;
  std::int64_t count = 1;
};

struct Deployment {
  std::string name;  // 2 x TP4; 1 x TP2 prefill + 3 x TP4 decode
  std::vector<ReplicaPool> pools;
  Json replicas;     // as a scenario's serving has them
  Json precision;    // likewise
  double least = 0;  // of the objective: no run of it can be below

  bool apart() const { return pools.size() > 1; }
  std::int64_t devices() const;
};

struct LeftOutOfPlan {
  std::string what, why;  // layouts, or deployments
  std::int64_t count = 0;
  std::string example;
};

struct Deployments {
  std::vector<Deployment> all;  // the least objective first
  std::vector<LeftOutOfPlan> left_out;
  std::int64_t layouts = 0, considered = 0;  // with those that are left out

  void leave_out(const std::string& what, const std::string& why, const std::string& example,
                 std::int64_t count = 1);
};

Deployments deployments_of(const PlanQuestion& question);

// The scenario that a deployment is.
Json scenario_of(const PlanQuestion& question, const Deployment& deployment);

}  // namespace weir
