#pragma once
// Block accounting of one replica's paged KV cache (PagedAttention, Kwon et al., SOSP'23). Which block holds
// what does not matter to time, so blocks are counted, not named. Promising a block twice is a bug of the
// policy and throws.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
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
  }
  void give(std::int64_t blocks) { free_ += blocks; }

  std::int64_t total() const { return total_; }
  std::int64_t free() const { return free_; }
  std::int64_t used() const { return total_ - free_; }
  std::int64_t peak() const { return peak_; }
  std::int64_t block_tokens() const { return block_tokens_; }

 private:
  std::int64_t total_, free_, block_tokens_, peak_ = 0;
};

}  // namespace weir
