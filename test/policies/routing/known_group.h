#pragma once
// Replicas whose loads and reports are given, and a router made from its keys.
#include "policies/routing/routing.h"
#include "test/policies/make_policy.h"

namespace weir::test {

inline std::shared_ptr<const RoutingPolicy> router_of(const Json& keys) {
  return policy_of(routing_policies(), keys);
}

class KnownGroup final : public ReplicaGroup {
 public:
  using ReplicaGroup::ReplicaGroup;
  void add(const RoutingPolicy& policy, const ReplicaLoad& load, const ReplicaReport& report = {}) {
    add_replica();
    set_outstanding_requests(size() - 1, load.requests);
    set_load(size() - 1, load, policy.value(load, block_tokens()));
    set_report(size() - 1, report);
  }
  std::int64_t outstanding_tokens(std::size_t) const override { return 0; }
};

}  // namespace weir::test
