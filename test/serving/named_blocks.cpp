#include "test/serving/named_blocks.h"

#include <algorithm>

namespace weir::test {

// Chains of hashes name all that is before a block.
NamedBlocks::Hash NamedBlocks::hash(std::int32_t request, std::size_t i) const {
  const auto& tokens = texts_[static_cast<std::size_t>(request)].tokens;
  const auto end = tokens.begin() + static_cast<std::int64_t>(i + 1) * limits_.block_tokens;
  return {limits_.shared ? -1 : request, {tokens.begin(), end}};
}

std::vector<std::int64_t> NamedBlocks::find(std::int32_t request) const {
  std::vector<std::int64_t> hits;
  const auto most = static_cast<std::size_t>((at(request).known - 1) / limits_.block_tokens);
  for (std::size_t i = 0; i < most; ++i) {
    const auto copies = cached_.find(hash(request, i));
    if (copies == cached_.end()) break;
    hits.push_back(copies->second.front());
  }
  return hits;
}

// get_new_blocks() and _maybe_evict_cached_block()
void NamedBlocks::take(std::int32_t request, std::int64_t tokens) {
  while (std::ssize(at(request).blocks) < blocks_for(tokens)) {
    const std::int64_t name = free_.front();
    free_.pop_front();
    Block& taken = block(name);
    if (taken.hash) {
      const auto copies = cached_.find(*taken.hash);
      std::erase(copies->second, name);
      if (copies->second.empty()) cached_.erase(copies);
    }
    taken = {nullptr, 1};
    at(request).blocks.push_back(name);
  }
}

bool NamedBlocks::allocate(std::int32_t request, std::int64_t tokens, const std::vector<std::int64_t>& hits) {
  Running& r = at(request);
  const auto free_hits =
      std::ranges::count_if(hits, [&](std::int64_t name) { return block(name).holders == 0; });
  const auto lacks = [&](std::int64_t all) {
    return blocks_for(all) - std::ssize(r.blocks) - std::ssize(hits);
  };
  const bool whole = limits_.admission == Admission::prompt && r.blocks.empty();
  if (whole && lacks(r.known) + free_hits > free()) return false;
  if (lacks(r.computed + tokens) + free_hits > free()) return false;
  for (const std::int64_t name : hits) {
    if (block(name).holders++ == 0) std::erase(free_, name);
    r.blocks.push_back(name);
  }
  r.hashed = std::max(r.hashed, hits.size());
  take(request, r.computed + tokens);
  return true;
}

void NamedBlocks::publish(std::int32_t request) {
  Running& r = at(request);
  const auto full = static_cast<std::size_t>(std::min(r.computed, r.known) / limits_.block_tokens);
  for (; r.hashed < full; ++r.hashed) {
    const auto copies = cached_.try_emplace(hash(request, r.hashed)).first;
    copies->second.push_back(r.blocks[r.hashed]);
    block(r.blocks[r.hashed]).hash = &copies->first;
  }
}

void NamedBlocks::give(std::int32_t request) {
  Running& r = at(request);
  for (std::size_t i = r.blocks.size(); i-- > 0;)
    if (--block(r.blocks[i]).holders == 0) free_.push_back(r.blocks[i]);
  r.blocks.clear();
  r.hashed = 0;
}

// A chunk's name is all that is before its end.
std::vector<Token> NamedBlocks::chunk(std::int32_t request, std::int64_t i) const {
  const auto& tokens = texts_[static_cast<std::size_t>(request)].tokens;
  return {tokens.begin(), tokens.begin() + (i + 1) * limits_.chunk_tokens};
}

bool NamedBlocks::has(std::size_t tier, const std::vector<Token>& chunk) const {
  return std::ranges::find(tiers_[tier], chunk) != tiers_[tier].end();
}

// One after another, each of which makes room for itself. What is there already is used last only when asked.
void NamedBlocks::use(std::size_t tier, std::int32_t request, std::int64_t first, std::int64_t last,
                      bool used) {
  auto& chunks = tiers_[tier];
  last = std::min(last, first + limits_.tiers[tier].chunks);
  for (std::int64_t i = first; i < last; ++i) {
    const bool there = has(tier, chunk(request, i));
    if (there && !used) continue;
    if (there)
      std::erase(chunks, chunk(request, i));
    else if (std::ssize(chunks) == limits_.tiers[tier].chunks)
      chunks.erase(chunks.begin());
    chunks.push_back(chunk(request, i));
  }
}

// Chunk by chunk behind what the cache has, each from the nearest tier that has it; then all are used, in the
// tiers on their way as well. Returns tokens by tier.
std::vector<std::int64_t> NamedBlocks::load(std::int32_t request) {
  const Running& r = at(request);
  std::vector<std::int64_t> tokens(tiers_.size());
  std::vector<std::pair<std::size_t, std::int64_t>> parts;  // tier and the chunk behind it
  const std::int64_t first = r.computed / limits_.chunk_tokens;
  std::int64_t end = r.computed;
  for (std::int64_t i = first; (i + 1) * limits_.chunk_tokens <= r.known && end < r.known - 1; ++i) {
    std::size_t tier = 0;
    while (tier < tiers_.size() && !has(tier, chunk(request, i))) ++tier;
    if (tier == tiers_.size()) break;
    const std::int64_t until = std::min((i + 1) * limits_.chunk_tokens, r.known - 1);
    if (until <= end) break;
    tokens[tier] += until - end;
    end = until;
    if (parts.empty() || parts.back().first != tier) parts.emplace_back(tier, i);
    parts.back().second = i + 1;
  }
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t tier = 0; tier <= parts[part].first; ++tier)
      use(tier, request, part == 0 ? first : parts[part - 1].second, parts[part].second, true);
  return tokens;
}

void NamedBlocks::store(std::int32_t request, bool answered) {
  const std::int64_t chunks = at(request).computed / limits_.chunk_tokens;
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (answered && !limits_.tiers[tier].answers) continue;
    use(tier, request, 0, chunks, false);
  }
}

// Blocks that this step fills are found from the next one on.
std::vector<NamedBlocks::Slice> NamedBlocks::step() {
  std::vector<Slice> slices;
  std::vector<std::int32_t> arriving;  // by the end of the step
  std::int64_t budget = limits_.tokens;
  bool preempted = false;
  const auto compute = [&](std::int32_t request, std::int64_t tokens) {
    slices.push_back({request, tokens, at(request).computed});
    at(request).computed += tokens;
    budget -= tokens;
  };
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const std::int32_t request = running_[i];
    const std::int64_t tokens = std::min(at(request).known - at(request).computed, budget);
    bool scheduled = false;
    while (!(scheduled = allocate(request, tokens, {}))) {
      const std::int32_t victim = running_.back();
      running_.pop_back();
      give(victim);
      at(victim).computed = 0;
      waiting_.push_front(victim);
      ++preemptions_;
      preempted = true;
      if (victim == request) break;
    }
    if (!scheduled) break;
    compute(request, tokens);
  }
  while (!preempted && !waiting_.empty() && budget > 0 && std::ssize(running_) < limits_.requests) {
    const std::int32_t request = waiting_.front();
    const std::vector<std::int64_t> hits = find(request);
    Running& r = at(request);
    r.computed = std::ssize(hits) * limits_.block_tokens;
    const auto before = tiers_;
    const std::int64_t found = r.computed;
    const std::vector<std::int64_t> loads = load(request);
    for (const std::int64_t load : loads) r.computed += load;
    const bool comes = limits_.loads_beside_steps && r.computed > found;
    const std::int64_t tokens = comes ? 1 : std::min(r.known - r.computed, budget);
    if (!allocate(request, tokens, hits)) {
      r.computed = 0;
      tiers_ = before;
      break;
    }
    if (r.found < 0) r.found = found, r.loaded = loads;
    waiting_.pop_front();
    running_.push_back(request);
    if (comes)
      --budget, arriving.push_back(request);
    else
      compute(request, tokens);
  }
  for (const Slice& slice : slices) publish(slice.request);
  for (const std::int32_t request : arriving) publish(request);
  std::vector<std::int32_t> stay;
  for (const std::int32_t request : running_) {
    Running& r = at(request);
    const NamedText& text = texts_[static_cast<std::size_t>(request)];
    if (r.computed == r.known) {
      if (r.known == text.input) store(request, false);
      ++r.known;
    }
    if (r.known == std::ssize(text.tokens)) {
      store(request, true);
      give(request);
    } else {
      stay.push_back(request);
    }
  }
  running_ = std::move(stay);
  return slices;
}

}  // namespace weir::test
