// L3 (Section 5.1) compares its layers in turn with this: each request's KV cache in one channel, drawn at
// random. The draw follows from how many were admitted before, so that the same requests go to the same
// channels. Whoever finds no room in his waits for it.
#include "policies/placement/placement.h"

namespace weir {
namespace {

std::uint64_t drawn(std::uint64_t number) {  // splitmix64 (Steele, Lea, Flood, OOPSLA 2014)
  std::uint64_t z = (number + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Random final : public ChannelPlacementPolicy {
 public:
  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    auto number = static_cast<std::uint64_t>(view.admitted);
    for (PlacedRequest& request : requests)
      request.channel = static_cast<int>(drawn(number++) % view.free_blocks.size());
    return {Validity::unlimited};
  }
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_random_placement(Params&) {
  return std::make_shared<Random>();
}

}  // namespace weir
