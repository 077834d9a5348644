#pragma once
// Whose text each block of a request's is: its own, or that of one that its prompt begins with.
#include <algorithm>
#include <span>
#include <vector>

#include "sim/serving/kv/blocks/kv_blocks.h"
#include "workloads/contents.h"

namespace weir {

class TextPath {
 public:
  TextPath(const Contents& contents, std::int64_t block_tokens)
      : contents_(contents), block_tokens_(block_tokens) {}

  // The first `blocks` of its text, by owner; until the next call.
  std::span<const TextBlocks> operator()(std::int32_t request, std::int64_t blocks);
  // Blocks of its text that others begin with, or that are another's.
  std::int64_t asked(std::int32_t request) const {
    return std::max(contents_.reused(request), contents_.origin(request).tokens) / block_tokens_;
  }
  bool shared() const { return contents_.shared(); }
  const Contents& contents() const { return contents_; }

 private:
  const Contents& contents_;
  std::int64_t block_tokens_;
  std::vector<TextBlocks> path_;
};

inline std::span<const TextBlocks> TextPath::operator()(std::int32_t request, std::int64_t blocks) {
  path_.clear();
  for (std::int64_t last = blocks; request >= 0;) {
    const Origin origin = contents_.origin(request);
    const std::int64_t first = std::min(last, origin.tokens / block_tokens_);
    if (first < last) path_.push_back({request, first, last});
    request = origin.request;
    last = first;
  }
  std::ranges::reverse(path_);
  return path_;
}

}  // namespace weir
