#pragma once
// DIMMs with PIM at their banks or at their ranks (L3), or plain ones that the host's processor reads (NEO,
// FastDecode). Shares are whole channels, which is how L3 maps heads to channels. Ranks form ranksets, one of
// every channel each: a request's keys and values of a layer lie in one of them (Section 5.1). The unit they
// add: ranksets, a member each, or host_cpu. Used inside devices/host_memory only.
#include <functional>

#include "devices/host_memory/host_memory.h"
#include "models/memory/dimm_pim/rank_attention.h"

namespace weir {

struct DimmShape {
  DimmLevel level = DimmLevel::bank;
  int channels = 1;  // of the node
  int ranksets = 1;
  int ranks_in_channel = 1;          // of one rankset: a request's tokens go round them
  BytesPerSecond channel_bandwidth;  // of a channel's bus, nominal
  BytesPerSecond stored;             // keys and values into a channel, re-layout included
  BytesPerSecond read;               // by the host's processor, from a channel
  // One KV head of a request, with the query heads that share it, on one rank.
  std::function<RankAttention::Affine(std::int64_t query_heads, std::int64_t head_dim)> head;
};

class Dimm final : public HostMemory {
 public:
  Dimm(DeviceSpec spec, DimmShape shape) : spec_(std::move(spec)), shape_(std::move(shape)) {}

  const DeviceSpec& spec() const override { return spec_; }
  std::string cannot_share(int devices) const override;
  std::shared_ptr<const Device> beside(std::shared_ptr<const Device> device, int devices,
                                       Memory::KeptFor kept_for) const override;

 private:
  DeviceSpec spec_;
  DimmShape shape_;
};

}  // namespace weir
