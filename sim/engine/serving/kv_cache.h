#pragma once
// Block accounting of one replica's paged KV cache (PagedAttention, Kwon et al., SOSP'23). Blocks are
// counted, not named, with one exception: those that a preempted request gave back keep what they hold until
// somebody takes them, and it may have them again. Free blocks are taken in the order in which they were
// given back, a request's last ones first (vLLM v1, BlockPool). Promising a block twice is a bug of the
// policy and throws.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <stdexcept>

namespace weir {

class KvCache {
 public:
  KvCache(std::int64_t blocks, std::int64_t block_tokens)
      : total_(blocks), free_(blocks), block_tokens_(block_tokens) {}

  std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }
  void take(std::int64_t blocks) {
    if (blocks > free_) throw std::logic_error("a batching policy promised KV blocks that are not free");
    free_ -= blocks;
    peak_ = std::max(peak_, total_ - free_);
    if (!left_.empty()) overwrite(blocks);
  }
  void give(std::int64_t blocks) {
    free_ += blocks;
    if (!left_.empty()) append(nobody, blocks);
  }

  // Gives back the blocks of a preempted request that had `tokens` in them.
  void leave(std::int32_t request, std::int64_t blocks, std::int64_t tokens);
  // Tokens of its beginning that a request would find again: whole blocks only.
  std::int64_t found(std::int32_t request) const;
  // Takes them; they are no longer free.
  void take_found(std::int32_t request);

  std::int64_t total() const { return total_; }
  std::int64_t free() const { return free_; }
  std::int64_t used() const { return total_ - free_; }
  std::int64_t peak() const { return peak_; }
  std::int64_t block_tokens() const { return block_tokens_; }

 private:
  static constexpr std::int32_t nobody = -1;
  struct Left {  // free blocks, in the order in which they will be taken
    std::int32_t request;
    std::int64_t blocks;
  };
  void append(std::int32_t request, std::int64_t blocks);
  void overwrite(std::int64_t blocks);
  void forget_if_nobody_s();

  std::int64_t total_, free_, block_tokens_, peak_ = 0;
  std::deque<Left> left_;        // all free blocks, as long as some hold what a preempted request computed
  std::int64_t remembered_ = 0;  // requests among them
};

}  // namespace weir
