#include <limits>
#include <stdexcept>

#include "policies/routing/routing.h"

namespace weir {
std::size_t with_fewest_requests(const RoutingView& view) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  std::size_t chosen = 0, first = 0;
  for (const ReplicaGroup* group : view.groups) {
    const std::size_t least = group->fewest_requests();
    if (group->outstanding_requests(least) < fewest) {
      fewest = group->outstanding_requests(least);
      chosen = first + least;
    }
    first += group->size();
  }
  return chosen;
}

PlaceInView place_in(const RoutingView& view, std::size_t replica) {
  for (const ReplicaGroup* group : view.groups) {
    if (replica < group->size()) return {group, replica};
    replica -= group->size();
  }
  throw std::logic_error("a router knows a replica that is not there");
}

namespace {

class LeastOutstanding final : public RoutingPolicy {
 public:
  std::size_t route(const Request&, const RoutingView& view) const override {
    return with_fewest_requests(view);
  }
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_least_outstanding_routing(Params&) {
  return std::make_shared<LeastOutstanding>();
}

}  // namespace weir
