#include "policies/routing/routing.h"

namespace weir {
namespace {

class RoundRobin final : public RoutingPolicy {
 public:
  std::size_t route(const Request&, const RoutingView& view) const override {
    return static_cast<std::size_t>(view.routed) % view.size();
  }
  std::vector<RoutingScores> scores(const Request&, const RoutingView&) const override { return {}; }
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_round_robin_routing(Params&) {
  return std::make_shared<RoundRobin>();
}

}  // namespace weir
