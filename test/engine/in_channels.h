#pragma once
// Replicas whose devices keep KV caches in several channels, without the devices' timing.
#include <cstddef>
#include <memory>

#include "devices/device.h"
#include "policies/placement/placement.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

namespace weir::test {

class InChannels final : public Device {
 public:
  explicit InChannels(int channels) { spec_.kv_channels = channels; }
  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const Operator&, const BatchShape&, const CollectiveModel&) const override { return {}; }
  AffineKernelCost decode_attention(const Operator&, const BatchShape&) const override { return {}; }

 private:
  DeviceSpec spec_;
};

class AnyChannel final : public ChannelPlacementPolicy {
 public:
  void place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    for (PlacedRequest& r : requests)
      r.channel = static_cast<int>(dice_(0, std::ssize(view.free_blocks) - 1));
  }

 private:
  mutable Dice dice_{1};
};

inline std::shared_ptr<const ChannelPlacementPolicy> placement(std::int64_t which) {
  if (which == 0) return std::make_shared<AnyChannel>();
  return make_policy(placement_policies(), which == 1 ? "round_robin" : "greedy_min_load");
}

}  // namespace weir::test
