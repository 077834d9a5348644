// What L3 (Section 5.1) compares its layers in turn with: each request's KV cache in one channel, drawn at
// random. The draw follows from how many were admitted before, so that the same requests go to the same
// channels; one that has no room gives the request to the next that has.
#include "policies/placement/channels.h"

namespace weir {
namespace {

class Random final : public ChannelPlacementPolicy {
 public:
  void place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    Channels channels(view);
    auto number = static_cast<std::uint64_t>(view.admitted);
    for (PlacedRequest& request : requests) {
      auto channel = static_cast<int>(drawn(number++) % static_cast<std::uint64_t>(channels.size()));
      const std::int64_t enough = channels.enough(request);
      while (channels.free(channel) < enough) channel = (channel + 1) % channels.size();
      channels.put(request, channel);
    }
  }

 private:
  static std::uint64_t drawn(std::uint64_t number) {  // splitmix64 (Steele, Lea, Flood, OOPSLA 2014)
    std::uint64_t z = (number + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_random_placement(Params&) {
  return std::make_shared<Random>();
}

}  // namespace weir
