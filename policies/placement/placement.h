#pragma once
// Which channel of a device's memory holds a request's KV cache, and so which channel's PIM attends to it.
// Called by the engine before the batching policy, for those that wait at the front and may be admitted in
// this step; what is not admitted is placed anew the next time. Pure: a function of the snapshot. Devices
// with one channel never ask.
#include <cstdint>
#include <span>

#include "models/memory/pim/mha_estimate.h"
#include "policies/validity.h"
#include "sim/core/catalog.h"

namespace weir {

struct PlacedRequest {
  std::int64_t tokens;  // known so far
  int channel;
};

struct PlacementView {
  std::span<const PlacedRequest> placed;      // those that run and are not in flight
  std::span<const std::int64_t> free_blocks;  // of each channel; its size is the number of channels
  std::int64_t block_tokens;
  std::int64_t admitted;  // requests admitted so far
  MhaParameters mha;      // of one rank's share of the model
};

class ChannelPlacementPolicy {
 public:
  virtual ~ChannelPlacementPolicy() = default;
  // Fills in the channel of every one of `requests`, which are first come, first served. Valid for this step
  // alone where it follows blocks and loads, which move with every step; unlimited where whoever waits may be
  // admitted then as now, until somebody is.
  virtual Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const = 0;
  // The layers of a request go round the channels, its own being the first layer's: each holds an equal share
  // of every block.
  virtual bool spreads_layers() const { return false; }
};

const Catalog<ChannelPlacementPolicy>& placement_policies();

}  // namespace weir
