// The queue's length is its work, in prompt and output tokens: requests of very unlike lengths then spread
// evenly, which counting them would not. It knows output lengths beforehand, as no real router does: an upper
// bound.
#include <algorithm>

#include "policies/routing/routing.h"

namespace weir {
namespace {

class JoinShortestQueue final : public RoutingPolicy {
 public:
  std::size_t route(const Request&, const RoutingView& view) const override {
    const auto least = std::ranges::min_element(view.replicas, {}, &ReplicaLoad::outstanding_tokens);
    return static_cast<std::size_t>(least - view.replicas.begin());
  }
  bool reads_tokens() const override { return true; }
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_join_shortest_queue_routing(Params&) {
  return std::make_shared<JoinShortestQueue>();
}

}  // namespace weir
