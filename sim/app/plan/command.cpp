// weir plan: from a scenario, the devices at hand and an SLO to the deployment that costs least, and the
// command that starts it. Under mpirun it is weir_mpi.
#include <CLI/CLI.hpp>
#include <future>
#include <thread>

#include "sim/app/command_line.h"
#include "sim/app/plan/plan_run.h"
#include "sim/core/catalog.h"

namespace weir {
namespace {

int plan(PlanArguments arguments) {
  // On a thread, as a sweep is read: its heap is not the one that children copy.
  const auto read = [&] {
    std::unique_ptr<PlannedSweep> plan = asked_plan(arguments);
    add_deployments(*plan);
    return plan;
  };
  const std::unique_ptr<PlannedSweep> planned = std::async(std::launch::async, read).get();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return run_plan(*planned, arguments,
                  in_local_children(work_of(planned->sweep), limits_of(planned->sweep),
                                    arguments.jobs > 0 ? arguments.jobs : cores));
}

}  // namespace

// A kind is offered by the eight: the number is easily changed.
std::vector<std::string> plan_values(const std::string& argument, const std::vector<std::string>&) {
  if (argument != "devices") return {};
  std::vector<std::string> lists;
  for (const std::string& kind : planned_kinds()) lists.push_back("8x" + kind);
  return lists;
}

std::function<int()> declare_plan(CLI::App& app) {
  const auto a = std::make_shared<PlanArguments>();
  declare_plan_arguments(app, *a);
  return [a] { return plan(*a); };
}

}  // namespace weir
