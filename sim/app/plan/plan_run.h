#pragma once
// weir plan, once the deployments are known: searches them, prints the table, writes the files. The process
// that calls this may never make a SimGrid Engine: points are forked from it.
#include "sim/app/plan/search.h"

namespace CLI {
class App;
}

namespace weir {

struct PlannedSweep {
  PlanQuestion question;
  Deployments deployments;
  Sweep sweep;
};

void declare_plan_arguments(CLI::App& app, PlanArguments& arguments);
// The question, and a sweep without points. Throws ConfigError. In a unique_ptr: deployments refer to the
// question.
std::unique_ptr<PlannedSweep> asked_plan(PlanArguments& arguments);
void add_deployments(PlannedSweep& plan);
int run_plan(const PlannedSweep& plan, const PlanArguments& arguments, const RunPoints& run_points);

}  // namespace weir
