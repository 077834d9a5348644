// L3, Section 5.1: the keys and values of a request's layers go to the ranksets in turn, so that each holds
// an equal share of every request. Requests start in turn too, so that those of one layer are dealt out
// evenly.
#include "policies/placement/placement.h"

namespace weir {
namespace {

class LayerWise final : public ChannelPlacementPolicy {
 public:
  void place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    auto turn = view.admitted;
    for (PlacedRequest& request : requests)
      request.channel = static_cast<int>(turn++ % std::ssize(view.free_blocks));
  }
  bool spreads_layers() const override { return true; }
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_layer_wise_placement(Params&) {
  return std::make_shared<LayerWise>();
}

}  // namespace weir
