#pragma once
// One memory behind KV caches keeps chunks of texts, the least recently used of which give way. A
// text's chunks come, and are used, one after another from the first on: each makes room for itself, and so
// the beginning of what was used longest ago goes first (an OrderedDict of chunks, as LMCache's LRU is one:
// lmcache/v1/storage_backend/cache_policy/lru.py; its later versions move what was found to the end from its
// last chunk to its first). Chunks that are neighbours in a text and in use are one span, so that memory and
// time grow with texts, not with chunks.
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/serving/kv/blocks/kv_blocks.h"

namespace weir {

class KvTier {
 public:
  explicit KvTier(std::int64_t chunks) : total_(chunks) {}

  // Texts are given by owner as TextPath does, in chunks. Chunks from `first` on that are there, one after
  // another.
  std::int64_t find(std::span<const TextBlocks> text, std::int64_t first) const;
  // Chunks [first, last) are there from now on, and were used last. More than it holds: as many of the first.
  void use(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last) {
    come(text, first, last, true);
  }
  // Chunks that are not there come; the others do not count as used.
  void add(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last) {
    come(text, first, last, false);
  }

  std::int64_t total() const { return total_; }
  std::int64_t used() const { return used_; }

 private:
  using Spans = std::list<TextBlocks>;  // the least recently used first, and of each its first chunk
  using Places = std::vector<Spans::iterator>;

  void come(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last, bool used);
  void append(TextBlocks part);  // of which nothing is there
  void take_out(TextBlocks part);
  void make_room(std::int64_t chunks);
  static Places::iterator behind(Places& places, std::int64_t chunk);

  std::int64_t total_, used_ = 0;
  Spans spans_;
  std::unordered_map<std::int32_t, Places> of_text_;  // its spans in their order
};

}  // namespace weir
