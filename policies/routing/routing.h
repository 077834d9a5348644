#pragma once
// Which replica a request goes to. Called by the router actor once a request (and once more when a prefill
// replica hands over to a decode replica). Pure: a function of the snapshot; of equals, the lowest index.
#include <cstdint>
#include <span>

#include "sim/core/catalog.h"
#include "sim/core/request.h"

namespace weir {

struct ReplicaLoad {
  std::int64_t outstanding_requests;  // queued or running
  std::int64_t outstanding_tokens;    // prompt and output tokens still to compute of those; see reads_tokens
};

struct RoutingView {
  std::span<const ReplicaLoad> replicas;  // those that may take the request; at least one
  std::int64_t routed;                    // requests routed to them so far
};

class RoutingPolicy {
 public:
  virtual ~RoutingPolicy() = default;
  // Index into replicas.
  virtual std::size_t route(const Request& request, const RoutingView& view) const = 0;
  // Counting tokens in the middle of a fast-forwarded run costs time; only for policies that say so.
  virtual bool reads_tokens() const { return false; }
};

const Catalog<RoutingPolicy>& routing_policies();

}  // namespace weir
