#pragma once
// Replicas whose devices keep KV caches in several channels, without the devices' timing.
#include <cstddef>
#include <memory>
#include <numeric>

#include "devices/device.h"
#include "policies/placement/placement.h"
#include "sim/plan/plan.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

namespace weir::test {

class InChannels final : public Device {
 public:
  explicit InChannels(int channels) { spec_.own().members = channels; }
  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const KernelWork&, int) const override { return {}; }
  AffineKernelCost decode_attention(const KernelWork&, int) const override { return {}; }

 private:
  DeviceSpec spec_;
};

class AnyChannel final : public ChannelPlacementPolicy {
 public:
  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    for (PlacedRequest& r : requests)
      r.channel = static_cast<int>(dice_(0, std::ssize(view.free_blocks) - 1));
    return {};
  }

 private:
  mutable Dice dice_{1};
};

constexpr std::int64_t placements = 5;
inline std::shared_ptr<const ChannelPlacementPolicy> placement(std::int64_t which) {
  if (which == 0) return std::make_shared<AnyChannel>();
  const char* names[] = {"", "round_robin", "greedy_min_load", "layer_wise", "random"};
  return make_policy(placement_policies(), names[which]);
}

// So many blocks in each channel, or in all together.
inline KvPools pools(std::int64_t each, int channels, bool together) {
  KvPools pools{std::vector(together ? 1 : static_cast<std::size_t>(channels), each),
                std::vector(static_cast<std::size_t>(channels), 0)};
  if (!together) std::iota(pools.of_channel.begin(), pools.of_channel.end(), 0);
  return pools;
}

}  // namespace weir::test
