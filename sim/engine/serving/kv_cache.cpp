#include "sim/engine/serving/kv_cache.h"

namespace weir {

void KvCache::leave(std::int32_t request, std::int64_t blocks, std::int64_t tokens) {
  const std::int64_t whole = tokens / block_tokens_;
  if (left_.empty()) append(nobody, free_);
  append(nobody, blocks - whole);
  append(request, whole);
  free_ += blocks;
  forget_if_nobody_s();
}

std::int64_t KvCache::found(std::int32_t request) const {
  for (const Left& left : left_)
    if (left.request == request) return left.blocks * block_tokens_;
  return 0;
}

void KvCache::take_found(std::int32_t request) {
  const auto at =
      std::find_if(left_.begin(), left_.end(), [&](const Left& l) { return l.request == request; });
  if (at == left_.end()) return;
  free_ -= at->blocks;
  peak_ = std::max(peak_, total_ - free_);
  left_.erase(at);
  --remembered_;
  forget_if_nobody_s();
}

void KvCache::append(std::int32_t request, std::int64_t blocks) {
  if (blocks == 0) return;
  if (request != nobody) ++remembered_;
  if (request == nobody && !left_.empty() && left_.back().request == nobody)
    left_.back().blocks += blocks;
  else
    left_.push_back({request, blocks});
}

void KvCache::overwrite(std::int64_t blocks) {
  while (blocks > 0) {
    Left& first = left_.front();
    const std::int64_t n = std::min(blocks, first.blocks);
    first.blocks -= n;
    blocks -= n;
    if (first.blocks > 0) break;
    if (first.request != nobody) --remembered_;
    left_.pop_front();
  }
  forget_if_nobody_s();
}

void KvCache::forget_if_nobody_s() {
  if (remembered_ == 0) left_.clear();
}

}  // namespace weir
