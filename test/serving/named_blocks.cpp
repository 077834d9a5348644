#include "test/serving/named_blocks.h"

#include <algorithm>

namespace weir::test {

std::int64_t NamedBlocks::find(std::int32_t request) {
  hits_.clear();
  const auto most = static_cast<std::size_t>((at(request).known - 1) / limits_.block_tokens);
  for (std::size_t i = 0; i < most; ++i) {
    const auto copies = cached_.find(hash(request, i));
    if (copies == cached_.end()) break;
    hits_.push_back(copies->second.front());
  }
  return std::ssize(hits_) * limits_.block_tokens;
}

// get_new_blocks() and _maybe_evict_cached_block()
void NamedBlocks::take(std::int32_t request, std::int64_t tokens) {
  while (std::ssize(held(request).blocks) < blocks_for(tokens)) {
    const std::int64_t name = free_.front();
    free_.pop_front();
    Block& taken = block(name);
    if (taken.hash) {
      const auto copies = cached_.find(*taken.hash);
      std::erase(copies->second, name);
      if (copies->second.empty()) cached_.erase(copies);
    }
    taken = {nullptr, 1};
    held(request).blocks.push_back(name);
  }
}

bool NamedBlocks::extend(std::int32_t request, std::int64_t tokens) {
  if (blocks_for(tokens) - std::ssize(held(request).blocks) > free()) return false;
  take(request, tokens);
  return true;
}

bool NamedBlocks::admit(std::int32_t request, std::int64_t tokens) {
  const auto free_hits =
      std::ranges::count_if(hits_, [&](std::int64_t name) { return block(name).holders == 0; });
  if (claim(request, tokens) - std::ssize(hits_) + free_hits > free()) return false;
  for (const std::int64_t name : hits_) {
    if (block(name).holders++ == 0) std::erase(free_, name);
    held(request).blocks.push_back(name);
  }
  held(request).hashed = hits_.size();
  take(request, tokens);
  return true;
}

void NamedBlocks::computed(std::int32_t request) {
  Held& mine = held(request);
  const Running& r = at(request);
  const auto full = static_cast<std::size_t>(std::min(r.computed, r.known) / limits_.block_tokens);
  for (; mine.hashed < std::min(full, mine.blocks.size()); ++mine.hashed) {
    const auto copies = cached_.try_emplace(hash(request, mine.hashed)).first;
    copies->second.push_back(mine.blocks[mine.hashed]);
    block(mine.blocks[mine.hashed]).hash = &copies->first;
  }
}

void NamedBlocks::give(std::int32_t request, bool) {
  Held& mine = held(request);
  for (std::size_t i = mine.blocks.size(); i-- > 0;)
    if (--block(mine.blocks[i]).holders == 0) free_.push_back(mine.blocks[i]);
  mine = {};
}

}  // namespace weir::test
