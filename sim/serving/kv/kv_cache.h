#pragma once
// Block accounting of one replica's paged KV cache (PagedAttention, Kwon et al., SOSP'23), in one pool or, on
// devices that compute in memory, in several, which the arguments here call channels. Blocks are counted, but
// for those that somebody may find again, by what they hold (KvBlocks). Promising a block twice is a bug of
// the policy and throws.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/actor/working_set.h"
#include "sim/serving/kv/blocks/kv_blocks.h"

namespace weir {

class KvCache {
 public:
  enum class Index { blocks, radix_tree };  // by which what they hold is found

  KvCache(std::vector<std::int64_t> channels, std::int64_t block_tokens, Index index = Index::blocks);
  KvCache(std::int64_t blocks, std::int64_t block_tokens, int channels = 1)  // of equal size
      : KvCache(std::vector(static_cast<std::size_t>(channels), blocks / channels), block_tokens) {}

  std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }
  void take(std::int64_t blocks, int channel = 0) {
    const std::int64_t free = this->free(channel);
    claim(blocks, channel);
    if (KvBlocks& held = held_blocks(channel); !held.nothing_kept()) held.take(blocks, free);
  }
  // A request lets go of its blocks: what is published of them is found again until it is overwritten.
  void give(std::int32_t request, std::int64_t blocks, int channel = 0);

  // The request holds the found pieces from now on, at the beginning of its text (KvBlocks::hold).
  void hold(std::int32_t request, std::span<const KvBlocks::Piece> pieces, std::int64_t asked,
            int channel = 0);
  // The first blocks of its text, by owner, which it holds, are full.
  void publish(std::int32_t request, std::span<const TextBlocks> text, int channel = 0);
  std::int64_t published(std::int32_t request) const;  // blocks of its text, from the first on

  KvBlocks& held_blocks(int channel = 0) { return *held_blocks_[static_cast<std::size_t>(channel)]; }
  const KvBlocks::Holding& holding(std::int32_t request) const;

  int channels() const { return static_cast<int>(totals_.size()); }
  std::int64_t total() const { return std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0}); }
  std::int64_t largest() const { return std::ranges::max(totals_); }  // channel
  std::int64_t free(int channel = 0) const { return free_[static_cast<std::size_t>(channel)]; }
  std::span<const std::int64_t> free_by_channel() const { return free_; }
  std::int64_t used() const { return used_; }
  std::int64_t peak() const { return peak_; }
  std::int64_t block_tokens() const { return block_tokens_; }
  void add_used(WorkingSet& uses) const {  // by take() and give()
    uses.add(free_);
    uses.add(totals_);
    uses.add(*held_blocks_[0]);
  }

 private:
  void claim(std::int64_t blocks, int channel) {
    if (blocks > free(channel))
      throw std::logic_error("a batching policy promised KV blocks that are not free");
    add_free(-blocks, channel);
    peak_ = std::max(peak_, used_);
  }
  void add_free(std::int64_t blocks, int channel) {
    free_[static_cast<std::size_t>(channel)] += blocks;
    used_ -= blocks;
  }

  std::vector<std::int64_t> totals_;
  std::int64_t block_tokens_, used_ = 0, peak_ = 0;
  std::vector<std::int64_t> free_;
  std::vector<std::unique_ptr<KvBlocks>> held_blocks_;            // of each channel
  std::unordered_map<std::int32_t, KvBlocks::Holding> holdings_;  // of requests that hold any of them
};

}  // namespace weir
