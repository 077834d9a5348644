// L3, Section 5.1: the keys and values of a request's layers go to the ranksets in turn, so that each holds
// an equal share of every request. A layer of a batch is as even as its requests' first ranksets: they are
// taken in turn, or each where the fewest tokens are.
#include <algorithm>
#include <utility>

#include "policies/placement/placement.h"

namespace weir {
namespace {

class LayerWise final : public ChannelPlacementPolicy {
 public:
  explicit LayerWise(bool in_turn) : in_turn_(in_turn) {}

  // All channels have room, or none has: who may be admitted does not hang on where his layers begin.
  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    (in_turn_ ? place_in_turn : place_least_loaded)(view, requests);
    return {Validity::unlimited};
  }
  bool spreads_layers() const override { return true; }

 private:
  static void place_least_loaded(const PlacementView& view, std::span<PlacedRequest> requests) {
    std::vector<std::pair<std::int64_t, int>> loads(view.free_blocks.size());  // tokens, requests
    const auto add = [&](const PlacedRequest& request) {
      auto& [tokens, count] = loads[static_cast<std::size_t>(request.channel)];
      tokens += request.tokens;
      ++count;
    };
    for (const PlacedRequest& request : view.placed) add(request);
    for (PlacedRequest& request : requests) {
      request.channel = static_cast<int>(std::ranges::min_element(loads) - loads.begin());
      add(request);
    }
  }

  static void place_in_turn(const PlacementView& view, std::span<PlacedRequest> requests) {
    auto turn = view.admitted;
    for (PlacedRequest& request : requests)
      request.channel = static_cast<int>(turn++ % std::ssize(view.free_blocks));
  }

  bool in_turn_;
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_layer_wise_placement(Params& params) {
  const std::string start = params.choice({"start",
                                           "Where a request's first layer goes: to the ranksets in turn, or "
                                           "to the one whose requests have the fewest "
                                           "tokens."},
                                          {"in_turn", "least_loaded"}, "in_turn");
  return std::make_shared<LayerWise>(start == "in_turn");
}

}  // namespace weir
