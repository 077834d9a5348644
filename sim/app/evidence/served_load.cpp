// The load of a scenario, as a measured server's is recorded.
#include <algorithm>

#include "sim/app/evidence/differences.h"

namespace weir {

ServedLoad load_of(const Plan& plan, std::optional<double> in_flight) {
  const Workload& workload = plan.scenario.workload;
  ServedLoad load{.sessions = workload.sessions != nullptr,
                  .begins_alike = workload.contents.shared(),
                  .in_generation = workload.in_generation,
                  .in_flight = in_flight};
  for (const Request& request : workload.requests) {
    load.input_tokens += static_cast<double>(request.input_tokens);
    load.output_tokens += static_cast<double>(request.output_tokens);
    load.longest = std::max(load.longest, static_cast<double>(request.input_tokens + request.output_tokens));
  }
  const auto count = static_cast<double>(workload.requests.size());
  load.input_tokens /= count;
  load.output_tokens /= count;
  if (workload.closed_loop)
    load.in_flight = static_cast<double>(workload.closed_loop->concurrency);
  else if (!in_flight && workload.traffic.request_rate && std::isinf(*workload.traffic.request_rate))
    load.in_flight = count;
  double replicas = 0;
  for (const ReplicaSpec& spec : plan.scenario.replicas) replicas += spec.role == Role::both ? spec.count : 0;
  if (load.in_flight) *load.in_flight /= std::max(replicas, 1.0);
  return load;
}

}  // namespace weir
