#pragma once
// What one memory behind KV caches keeps: chunks of texts, the least recently used of which give way. Chunks
// that are neighbours in a text and in use are one span, so that memory and time grow with texts, not with
// chunks. Of chunks used at once the last of a text go first, so that beginnings stay (LMCache touches a
// request's keys from the last to the first: lmcache/v1/storage_backend/local_cpu_backend.py, touch_cache).
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/serving/kv/kv_runs.h"

namespace weir {

class KvTier {
 public:
  explicit KvTier(std::int64_t chunks) : total_(chunks) {}

  // Texts are given by owner as TextPath does, in chunks. Chunks from `first` on that are there, one after
  // another.
  std::int64_t find(std::span<const TextBlocks> text, std::int64_t first) const;
  // Chunks [first, last) are there from now on, and were used last; others give way to them. More than it
  // holds: as many of the first.
  void use(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last);

  std::int64_t total() const { return total_; }
  std::int64_t used() const { return used_; }

 private:
  using Spans = std::list<TextBlocks>;  // the least recently used first, and of each its last chunk
  using Places = std::vector<Spans::iterator>;

  void use(TextBlocks part);
  void take_out(TextBlocks part);
  void evict();
  static Places::iterator behind(Places& places, std::int64_t chunk);

  std::int64_t total_, used_ = 0;
  Spans spans_;
  std::unordered_map<std::int32_t, Places> of_text_;  // its spans in their order
};

}  // namespace weir
