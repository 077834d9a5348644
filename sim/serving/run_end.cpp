#include "sim/serving/run_end.h"

#include <simgrid/s4u/Host.hpp>

namespace weir {

RunEnd end_of(const Plan& plan, const Cluster& cluster) {
  RunEnd end{plan.scenario.time_limit, {}, {}};
  const auto serves = [&](int replica, const simgrid::s4u::Host* host, const Availability* availability) {
    const std::optional<Seconds> at = availability ? availability->stops() : std::nullopt;
    if (!at) return;
    if (end.stopped && end.stopped->name == host->get_name()) {
      if (end.replicas.back() != replica) end.replicas.push_back(replica);
    } else if (!end.at || *at < *end.at) {
      end = {at, StoppedDevice{host->get_name(), *at}, {replica}};
    }
  };
  int number = 0;
  for (const ReplicaPlan& replica : plan.replicas)
    for (const ReplicaPlace& place : replica.places) {
      for (const auto& stage : place)
        for (const DevicePlace& device : stage) {
          serves(number, cluster.device(device), cluster.availability(device));
          if (replica.rank.host_memory())
            serves(number, cluster.host_memory(device.node), cluster.memory_availability(device.node));
        }
      ++number;
    }
  return end;
}

}  // namespace weir
