#pragma once
// The memory of a node's host as a place for KV caches and weights: DIMMs with PIM at their banks or at their
// ranks (L3), or plain ones that the host's processor reads (NEO, FastDecode). By itself a row of the
// catalog; beside devices that run a model it is cut into as many shares as the node has of these, whole
// channels each with the link of their own device, which is how L3 maps heads to channels. Its ranks form
// ranksets, one of every channel each: a request's keys and values of a layer lie in one of them
// (Section 5.1). The unit it adds: ranksets, a member each, or host_cpu.
#include <functional>

#include "devices/device.h"
#include "models/memory/dimm_pim/rank_attention.h"

namespace weir {

struct DimmShape {
  DimmLevel level = DimmLevel::bank;
  int channels = 1;  // of the node
  int ranksets = 1;
  int ranks_in_channel = 1;          // of one rankset: a request's tokens go round them
  BytesPerSecond channel_bandwidth;  // of a channel's bus, nominal
  BytesPerSecond stored;             // keys and values into a channel, re-layout included
  // One KV head of a request, with the query heads that share it, on one rank.
  std::function<RankAttention::Affine(std::int64_t query_heads, std::int64_t head_dim)> head;
};

std::shared_ptr<const Device> make_dimm(DeviceSpec spec, DimmShape shape);

// Why so many devices cannot share the memory evenly, or "".
std::string cannot_share(const Device& memory, int devices);
// `device` with its share of the memory, one of so many, as its last memory.
std::shared_ptr<const Device> with_host_memory(std::shared_ptr<const Device> device, const Device& memory,
                                               int devices, Memory::KeptFor kept_for);

}  // namespace weir
