// NeuPIMs' baseline: the i-th request to be admitted goes to channel i modulo their number, or to the next
// one with room for it.
#include "policies/placement/channels.h"

namespace weir {
namespace {

class RoundRobin final : public ChannelPlacementPolicy {
 public:
  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    Channels channels(view);
    auto turn = view.admitted;
    for (PlacedRequest& request : requests) {
      auto channel = static_cast<int>(turn++ % channels.size());
      const std::int64_t enough = channels.enough(request);
      while (channels.free(channel) < enough) channel = (channel + 1) % channels.size();
      channels.put(request, channel);
    }
    return {};
  }
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_round_robin_placement(Params&) {
  return std::make_shared<RoundRobin>();
}

}  // namespace weir
