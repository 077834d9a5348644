#pragma once
// Requests, their lengths and arrivals: the `workload` of a scenario, read and validated whole before
// anything runs. Same parameters and seed give the same requests, bit for bit.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"
#include "sim/core/request.h"
#include "workloads/benchmark_load.h"
#include "workloads/contents.h"
#include "workloads/sessions.h"

namespace weir {

class NeuronActivity;  // workloads/activity/activity.h

struct ClosedLoop {
  std::int64_t concurrency = 0;       // requests in flight at all times
  bool restart_after_warmup = false;  // nobody is sent beyond the warm-up before all of it has ended
  Seconds round_trip{0};              // from the client to the server and back
};

// How requests come, in the words of vLLM's benchmark: its --request-rate, infinite where they come all at
// once, and its --burstiness, the shape of gamma gaps, infinite where they come evenly. Empty: there is none.
struct Traffic {
  std::optional<double> request_rate, burstiness;
};

struct Workload {
  // Sorted by arrival; under closed_loop in the order they are sent; in sessions, each behind those that it
  // waits for, whose arrival is not known before.
  std::vector<Request> requests;
  std::optional<ClosedLoop> closed_loop;
  std::shared_ptr<const Sessions> sessions;        // null: no request waits for another
  std::optional<std::int64_t> max_in_flight;       // more wait at the client; none: no bound
  std::optional<std::int64_t> sessions_at_a_time;  // none: each comes at the arrival of its first request
  Contents contents;                               // which prompts begin alike
  BenchmarkLoad load;                              // under which a benchmark sent them
  Traffic traffic;
  bool in_generation = false;        // the KV of every input is in place on arrival, its first token is out
  std::int64_t warmup_requests = 0;  // the first so many that are sent are left out of every metric
  std::shared_ptr<const NeuronActivity> activity;  // null where the scenario says nothing of it
  std::vector<std::string> notes;  // what was dropped, estimated or not modelled, for the user
};

// Reads `workload`: requests, arrivals and activity. Problems go to the params' Reading. Large traces are
// read here.
Workload read_workload(Params params, std::uint64_t seed);

struct WorkloadKind {
  std::string name, summary;
};
std::vector<WorkloadKind> request_kinds();
std::vector<WorkloadKind> arrival_kinds();
std::vector<WorkloadKind> activity_kinds();
std::vector<WorkloadKind> named_lengths();

}  // namespace weir
