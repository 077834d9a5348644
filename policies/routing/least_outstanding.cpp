#include <algorithm>

#include "policies/routing/routing.h"

namespace weir {
namespace {

class LeastOutstanding final : public RoutingPolicy {
 public:
  std::size_t route(const Request&, const RoutingView& view) const override {
    const auto least = std::ranges::min_element(view.replicas, {}, &ReplicaLoad::outstanding_requests);
    return static_cast<std::size_t>(least - view.replicas.begin());
  }
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_least_outstanding_routing(Params&) {
  return std::make_shared<LeastOutstanding>();
}

}  // namespace weir
