#pragma once
// Plays one plan on SimGrid. One call a process: a second Engine would start at the first one's clock.
#include <atomic>
#include <functional>

#include "sim/plan/plan.h"
#include "sim/serving/platform/link_traffic.h"
#include "sim/serving/record/results.h"
#include "sim/serving/trace/trace_options.h"

namespace weir {

struct Progress {
  double finished_requests, total_requests;
  Seconds simulated;
  double share;  // of the work that is done: of tokens, or of the time limit
};

struct RunOptions {
  bool timeline = false;                           // fill RunResult::spans and those beside them
  bool token_gaps = false;                         // fill RunResult::token_gaps
  std::function<void(const Progress&)> progress;   // about ten times a wall second
  const std::atomic<bool>* interrupted = nullptr;  // set by a signal handler: stop soon, result.interrupted
  // A request was answered, or rejected. False: nobody needs the rest; stop, as one who is interrupted does.
  std::function<bool(const RequestRecord&)> answered = {};
  std::optional<TraceOptions> trace = {};
  // Starts the actors of others on the cluster, before the clock runs. The run lasts until these end too,
  // unless it was stopped: a result counts links until the last request.
  std::function<void(const Cluster&, LinkTraffic&)> others = {};
};

RunResult simulate(const Plan& plan, const RunOptions& options);

}  // namespace weir
