#include "workloads/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/activity/activity.h"
#include "workloads/arrivals.h"
#include "workloads/requests.h"

namespace weir {
namespace {

template <class Interface>
std::vector<WorkloadKind> kinds_of(const Catalog<Interface>& table) {
  std::vector<WorkloadKind> kinds;
  for (const auto& entry : table) kinds.push_back({entry.name, entry.summary});
  return kinds;
}

// Problems go to their keys.
template <class Action>
void reporting(Params& params, Action action) {
  try {
    action();
  } catch (const ConfigError& e) {
    for (const Problem& problem : e.problems()) params.fail(problem.pointer, problem.what);
  }
}

}  // namespace

Workload read_workload(Params params, std::uint64_t seed) {
  Params requests =
      params.object({"requests", "who asks: lengths, and a trace's arrivals"}, Params::Presence::required);
  Params arrivals = params.object({"arrivals", "when they ask"}, Params::Presence::required);
  std::optional<Params> activity = params.object_if_given(
      {"activity", "which neurons each token activates, for systems that compute those alone"});
  params.close();
  const auto source = make_from(request_sources(), requests, {"kind", "where requests come from"});
  const auto process = make_from(arrival_processes(), arrivals, {"kind", "when requests arrive"});
  Workload workload;
  if (activity)
    workload.activity = make_from(neuron_activities(), std::move(*activity), {"kind", "drawn or recorded"});
  if (params.describing() || !source) return workload;

  std::optional<Trace> trace;
  reporting(requests, [&] { trace = source->draw(seed); });
  if (!trace || !process) return workload;
  workload.requests = std::move(trace->requests);
  workload.notes = std::move(trace->notes);
  if (!trace->origins.empty()) workload.contents = Contents(std::move(trace->origins), workload.requests);
  if (!trace->turns.empty()) workload.sessions = std::make_shared<const Sessions>(std::move(trace->turns));
  workload.warmup_requests = process->warmup_requests();
  if (process->needs_a_trace() && !trace->missing_arrivals.empty())
    arrivals.fail(
        "kind", fmt::format("\"trace\" needs an arrival for each request, but {}", trace->missing_arrivals));
  workload.load = std::move(trace->load);
  workload.max_in_flight = process->max_in_flight();
  Rng rng = random_stream(seed, "arrivals");
  reporting(arrivals, [&] { process->schedule(workload, rng); });
  if (workload.sessions) workload.traffic = {};  // of requests, which come when answers let them
  if (std::ranges::none_of(workload.requests, &Request::measured))
    requests.fail("", "not one request is measured");
  const std::int64_t count = std::ssize(workload.requests);
  if (workload.warmup_requests >= count)
    arrivals.fail("warmup_requests", fmt::format("expected fewer than the {} requests there are, got {}",
                                                 count, workload.warmup_requests));
  return workload;
}

std::vector<WorkloadKind> request_kinds() {
  return kinds_of(request_sources());
}
std::vector<WorkloadKind> arrival_kinds() {
  return kinds_of(arrival_processes());
}
std::vector<WorkloadKind> activity_kinds() {
  return kinds_of(neuron_activities());
}

}  // namespace weir
