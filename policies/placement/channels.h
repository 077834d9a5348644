#pragma once
// Placement policies share this: the free blocks of each channel while they hand requests out. A request
// goes where all of its tokens fit, if they do anywhere, so that it does not stop those behind it; else where
// a block is free, to grow into blocks that others give back; else anywhere, to wait.
#include <algorithm>
#include <vector>

#include "policies/placement/placement.h"

namespace weir {

class Channels {
 public:
  explicit Channels(const PlacementView& view)
      : free_(view.free_blocks.begin(), view.free_blocks.end()), block_tokens_(view.block_tokens) {}

  int size() const { return static_cast<int>(free_.size()); }
  std::int64_t free(int channel) const { return free_[static_cast<std::size_t>(channel)]; }
  // A channel with so many free blocks may take the request.
  std::int64_t enough(const PlacedRequest& request) const {
    const std::int64_t most = std::ranges::max(free_);
    return most >= blocks(request) ? blocks(request) : most > 0 ? 1 : std::ranges::min(free_);
  }
  void put(PlacedRequest& request, int channel) {
    request.channel = channel;
    free_[static_cast<std::size_t>(channel)] -= blocks(request);
  }

 private:
  std::int64_t blocks(const PlacedRequest& request) const {
    return (request.tokens + block_tokens_ - 1) / block_tokens_;
  }

  std::vector<std::int64_t> free_;
  std::int64_t block_tokens_;
};

}  // namespace weir
