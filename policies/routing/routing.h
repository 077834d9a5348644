#pragma once
// Which replica a request goes to. Called by the router actor once a request (and once more when a prefill
// replica hands over to a decode replica). Pure: a function of the snapshot; of equals, the lowest index.
#include <cstdint>
#include <optional>
#include <span>

#include "policies/routing/replica_group.h"
#include "sim/core/catalog.h"
#include "sim/core/request.h"

namespace weir {

struct RoutingView {
  // All that may take the request, at least one. Policies number their replicas in this order.
  std::span<const ReplicaGroup* const> groups;
  std::int64_t routed;  // requests routed to them so far
  struct Visit {
    std::size_t replica;
    Seconds ago;
  };
  std::optional<Visit> last_visit =
      {};  // of the request's session, where it has one and that replica is there

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
  virtual bool follows_sessions() const { return false; }  // asks for last_visit
};

// The replica with the fewest requests queued or running, the first of equals.
std::size_t with_fewest_requests(const RoutingView& view);

const Catalog<RoutingPolicy>& routing_policies();

}  // namespace weir
