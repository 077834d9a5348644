#pragma once
// KV on its way from one memory to another.
#include <cstdint>
#include <vector>

#include "sim/serving/kv/tiers/kv_tiers.h"

namespace weir {

// A swap, a hand-over between replicas, a move between the device's own memory and its host's, a prompt that
// is loaded from tiers or stored in one. But for the last, blocks are held on both sides until it has
// arrived.
struct KvMove {
  struct Place {
    int replica;
    bool in_host = false;  // the memory of the nodes' hosts; else the devices'
  };
  std::int32_t request;
  std::int64_t tokens;
  Place from, to;
  std::vector<TierTokens> tiers = {};  // from, or to; none where no tier takes part
  bool stalls = false;                 // no step begins before it has arrived

  bool hands_over() const { return from.replica != to.replica; }
  bool leaves_device() const { return to.in_host; }
  // Into the host's memory it goes before the step begins; from there, or from elsewhere, beside the steps.
  bool before_step() const { return leaves_device() || stalls; }
};

}  // namespace weir
