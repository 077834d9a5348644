#pragma once
// Which replica a request goes to. Called by the router actor once a request (and once more when a prefill
// replica hands over to a decode replica). Pure: a function of the snapshot; of equals, the lowest index.
#include <cstdint>
#include <span>

#include "policies/routing/replica_group.h"
#include "sim/core/catalog.h"
#include "sim/core/request.h"

namespace weir {

struct RoutingView {
  // All that may take the request, at least one. Policies number their replicas in this order.
  std::span<const ReplicaGroup* const> groups;
  std::int64_t routed;  // requests routed to them so far

  std::size_t size() const {
    std::size_t replicas = 0;
    for (const ReplicaGroup* group : groups) replicas += group->size();
    return replicas;
  }
};

class RoutingPolicy {
 public:
  virtual ~RoutingPolicy() = default;
  // The number of a replica, below view.size().
  virtual std::size_t route(const Request& request, const RoutingView& view) const = 0;
};

const Catalog<RoutingPolicy>& routing_policies();

}  // namespace weir
