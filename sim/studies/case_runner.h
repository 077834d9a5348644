#pragma once
// Scenarios of a study, each simulated in a child process, reduced to the figures that are compared.
#include <functional>
#include <string>
#include <vector>

#include "sim/app/reproduce/reproduce.h"
#include "sim/core/params.h"

namespace weir {

// Plain numbers, so that they cross from a child to its parent as they are.
struct CaseFigures {
  double ttft_mean_ms = 0, ttft_p50_ms = 0, tpot_mean_ms = 0, tpot_p50_ms = 0, e2e_mean_ms = 0,
         e2e_p50_ms = 0;
  double itl_p50_ms = 0;
  double output_throughput = 0;
  double running = 0, rejected = 0;  // requests: the mean over the time; those that can never fit
  // Means over the devices and their time: of the peak rate, of the memory's bandwidth, of the unit that
  // attends in memory ("pim", "pim_blocked", "ranksets", "host_cpu"; 0: none).
  double flops_utilisation = 0, memory_utilisation = 0, pim_utilisation = 0;
  double device_watts = 0;      // of a device
  double dollars_per_hour = 0;  // of all devices
  // Of a training job's steps once they are alike (steady_step.h).
  double step_s = 0, step_joules = 0;                             // joules above idle
  double operation_s = 0, movement_s = 0, synchronisation_s = 0;  // of one step
  double pairs_busy = 0, arm_busy = 0, cpu_busy = 0;              // shares of the step's time
  // Of a training job with a net beside it, in place of those above (matched_pair.h).
  double apart_s = 0, together_s = 0;  // one after the other, and at once
  double beside_steps = 0;             // of the net beside, for one of the job's own
};

struct CaseResult : CaseFigures {
  std::string error;  // why there are no figures
};

struct Case {
  std::string name;  // for progress and errors
  Json scenario;
};

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const ReproduceOptions& options);
// Made one by one, in the child that runs it: thousands of scenarios side by side would slow every fork.
std::vector<CaseResult> run_cases(std::size_t count, const std::function<Case(std::size_t)>& case_of,
                                  const ReproduceOptions& options);

}  // namespace weir
