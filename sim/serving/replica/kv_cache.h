#pragma once
// Block accounting of one replica's paged KV cache (PagedAttention, Kwon et al., SOSP'23), in one pool or, on
// devices that compute in memory, in several, which the arguments here call channels. Blocks are counted,
// not named, with one exception: those that a preempted request gave back keep what they hold until somebody
// takes them, and it may have them again. Free blocks are taken in the order in which they were given back, a
// request's last ones first (vLLM v1, BlockPool). Promising a block twice is a bug of the policy and throws.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weir {

class KvCache {
 public:
  KvCache(std::vector<std::int64_t> channels, std::int64_t block_tokens)
      : totals_(std::move(channels)), block_tokens_(block_tokens), free_(totals_), left_(totals_.size()) {}
  KvCache(std::int64_t blocks, std::int64_t block_tokens, int channels = 1)  // of equal size
      : KvCache(std::vector(static_cast<std::size_t>(channels), blocks / channels), block_tokens) {}

  std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }
  void take(std::int64_t blocks, int channel = 0) {
    claim(blocks, channel);
    if (Left& left = left_of(channel); !left.in_order.empty()) overwritten_ += left.overwrite(blocks);
  }
  void give(std::int64_t blocks, int channel = 0) {
    free_of(channel) += blocks;
    used_ -= blocks;
    if (Left& left = left_of(channel); !left.in_order.empty()) left.append(nobody, blocks);
  }

  // Gives back the blocks of a preempted request that had `tokens` in them.
  void leave(std::int32_t request, std::int64_t blocks, std::int64_t tokens, int channel = 0);
  // Tokens of its beginning that a request would find again in this channel: whole blocks only.
  std::int64_t found(std::int32_t request, int channel = 0) const;
  // Free blocks that are taken before any that holds what a preempted request would find again.
  std::int64_t free_before_found(int channel = 0) const;
  // So far, of blocks that preempted requests would have found again.
  std::int64_t overwritten() const { return overwritten_; }
  // Takes them; they are no longer free.
  void take_found(std::int32_t request, int channel = 0);

  int channels() const { return static_cast<int>(totals_.size()); }
  std::int64_t total() const { return std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0}); }
  std::int64_t largest() const { return std::ranges::max(totals_); }  // channel
  std::int64_t free(int channel = 0) const { return free_[static_cast<std::size_t>(channel)]; }
  std::span<const std::int64_t> free_by_channel() const { return free_; }
  std::int64_t used() const { return used_; }
  std::int64_t peak() const { return peak_; }
  std::int64_t block_tokens() const { return block_tokens_; }

 private:
  static constexpr std::int32_t nobody = -1;
  struct Blocks {
    std::int32_t request;
    std::int64_t blocks;
  };
  struct Left {                   // of one channel
    std::deque<Blocks> in_order;  // all its free blocks, as they will be taken, as long as some hold what a
                                  // preempted request computed
    std::int64_t remembered = 0;  // requests among them
    void append(std::int32_t request, std::int64_t blocks);
    std::int64_t overwrite(std::int64_t blocks);  // how many of them were a request's
    void forget_if_nobody_s();
  };
  void claim(std::int64_t blocks, int channel) {
    if (blocks > free_of(channel))
      throw std::logic_error("a batching policy promised KV blocks that are not free");
    free_of(channel) -= blocks;
    used_ += blocks;
    peak_ = std::max(peak_, used_);
  }
  std::int64_t& free_of(int channel) { return free_[static_cast<std::size_t>(channel)]; }
  Left& left_of(int channel) { return left_[static_cast<std::size_t>(channel)]; }

  std::vector<std::int64_t> totals_;
  std::int64_t block_tokens_, used_ = 0, peak_ = 0, overwritten_ = 0;
  std::vector<std::int64_t> free_;
  std::vector<Left> left_;
};

}  // namespace weir
