#include "sim/serving/replica/kv_cache.h"

namespace weir {

void KvCache::leave(std::int32_t request, std::int64_t blocks, std::int64_t tokens, int channel) {
  const std::int64_t whole = tokens / block_tokens_;
  Left& left = left_of(channel);
  if (left.in_order.empty()) left.append(nobody, free_of(channel));
  left.append(nobody, blocks - whole);
  left.append(request, whole);
  free_of(channel) += blocks;
  used_ -= blocks;
  left.forget_if_nobody_s();
}

std::int64_t KvCache::found(std::int32_t request, int channel) const {
  for (const Blocks& run : left_[static_cast<std::size_t>(channel)].in_order)
    if (run.request == request) return run.blocks * block_tokens_;
  return 0;
}

std::int64_t KvCache::free_before_found(int channel) const {
  const Left& left = left_[static_cast<std::size_t>(channel)];
  if (left.in_order.empty()) return free(channel);
  return left.in_order.front().request == nobody ? left.in_order.front().blocks : 0;
}

void KvCache::take_found(std::int32_t request, int channel) {
  Left& left = left_of(channel);
  const auto at = std::ranges::find(left.in_order, request, &Blocks::request);
  if (at == left.in_order.end()) return;
  claim(at->blocks, channel);
  left.in_order.erase(at);
  --left.remembered;
  left.forget_if_nobody_s();
}

void KvCache::Left::append(std::int32_t request, std::int64_t blocks) {
  if (blocks == 0) return;
  if (request != nobody) ++remembered;
  if (request == nobody && !in_order.empty() && in_order.back().request == nobody)
    in_order.back().blocks += blocks;
  else
    in_order.push_back({request, blocks});
}

std::int64_t KvCache::Left::overwrite(std::int64_t blocks) {
  std::int64_t of_requests = 0;
  while (blocks > 0) {
    Blocks& first = in_order.front();
    const std::int64_t n = std::min(blocks, first.blocks);
    first.blocks -= n;
    blocks -= n;
    if (first.request != nobody) of_requests += n;
    if (first.blocks > 0) break;
    if (first.request != nobody) --remembered;
    in_order.pop_front();
  }
  forget_if_nobody_s();
  return of_requests;
}

void KvCache::Left::forget_if_nobody_s() {
  if (remembered == 0) in_order.clear();
}

}  // namespace weir
