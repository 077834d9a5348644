// The queue's length is its work, in prompt and output tokens: requests of very unlike lengths then spread
// evenly, which counting them would not. It knows output lengths beforehand, as no real router does: an upper
// bound.
#include <limits>

#include "policies/routing/routing.h"

namespace weir {
namespace {

class JoinShortestQueue final : public RoutingPolicy {
 public:
  std::size_t route(const Request&, const RoutingView& view) const override {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::size_t chosen = 0, number = 0;
    for (const ReplicaGroup* group : view.groups)
      for (std::size_t replica = 0; replica < group->size(); ++replica, ++number)
        if (const std::int64_t tokens = group->outstanding_tokens(replica); tokens < least) {
          least = tokens;
          chosen = number;
        }
    return chosen;
  }
  std::vector<RoutingScores> scores(const Request&, const RoutingView& view) const override {
    return {scores_by(view, "tokens", [](const ReplicaGroup& group, std::size_t replica) {
      return static_cast<double>(group.outstanding_tokens(replica));
    })};
  }
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_join_shortest_queue_routing(Params&) {
  return std::make_shared<JoinShortestQueue>();
}

}  // namespace weir
