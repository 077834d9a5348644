#pragma once
// Figure 8's runs, which its ratios (end_to_end.cpp) and the orders of its bars (orders.cpp) share.
#include "sim/studies/l3/study.h"

namespace weir::l3 {

inline SystemRun run_of(const System& system, const ServedModel& model, const TraceLengths& trace) {
  return {.system = system, .model = model.id, .trace = trace.id};
}

inline OverSeeds throughput(const Runs& runs, const SystemRun& run) {
  return sample(runs, run, &CaseResult::output_throughput);
}

bool runs_neo(const TraceLengths& trace);
std::vector<System> baselines_on(const TraceLengths& trace);

// Why some of a run's requests never fit its replicas; "" where all do.
std::string refused(const Runs& runs, const SystemRun& run);

// The orders compare all systems, and so does the figure.
bool wants_orders(const Runs& runs);
void add_orders(const Runs& runs, Rows& rows);

}  // namespace weir::l3
