#pragma once
// What the placement policies share: the free blocks of each channel while they hand requests out. A request
// goes only where a block is free, if there is such a channel; it may then grow into blocks that others give
// back.
#include <algorithm>
#include <vector>

#include "policies/placement/placement.h"

namespace weir {

class Channels {
 public:
  explicit Channels(const PlacementView& view)
      : free_(view.free_blocks.begin(), view.free_blocks.end()), block_tokens_(view.block_tokens) {}

  int size() const { return static_cast<int>(free_.size()); }
  bool any_free() const {
    return std::ranges::any_of(free_, [](std::int64_t blocks) { return blocks > 0; });
  }
  bool free(int channel) const { return blocks(channel) > 0; }
  std::int64_t blocks(int channel) const { return free_[static_cast<std::size_t>(channel)]; }
  void put(PlacedRequest& request, int channel) {
    request.channel = channel;
    free_[static_cast<std::size_t>(channel)] -= (request.tokens + block_tokens_ - 1) / block_tokens_;
  }

 private:
  std::vector<std::int64_t> free_;
  std::int64_t block_tokens_;
};

}  // namespace weir
