#include "sim/serving/kv/batch_prefixes.h"

#include <algorithm>

namespace weir {

void BatchPrefixes::begin() {
  outside_.clear();
  promised_.clear();
  promised_free_.assign(static_cast<std::size_t>(cache_.channels()), 0);
  for (int pool = 0; pool < cache_.channels(); ++pool) cache_.held_blocks(pool).begin_batch();
}

void BatchPrefixes::write_up_before(std::int32_t request) {
  for (Origin at = path_.contents().origin(request); at.request >= 0;
       at = path_.contents().origin(at.request))
    write_up_(at.request);
}

// At most all but the last token: that one is computed, as the first new token comes out of it.
std::int64_t BatchPrefixes::find(const SequenceView& waiting, std::int64_t taken, KvBlocks::Look look,
                                 std::int64_t left_out) {
  KvBlocks& held = cache_.held_blocks(pool(waiting));
  write_up_before(waiting.request);
  std::int64_t most = (waiting.known_tokens - 1) / cache_.block_tokens();
  for (;; left_out = 0) {
    pieces_.clear();
    const std::int64_t blocks = held.find(path_(waiting.request, most), taken, look, pieces_);
    if (left_out == 0) return blocks;
    most = std::max<std::int64_t>(0, blocks - left_out);
  }
}

Prefixes::Found BatchPrefixes::find(const SequenceView& waiting, std::int64_t gone) {
  if (waiting.elsewhere && !takes_over_) return {};
  const int pool = this->pool(waiting);
  const std::int64_t blocks = find(waiting, gone - promised_free_[static_cast<std::size_t>(pool)],
                                   KvBlocks::Look::scheduler, left_out_);
  const std::int64_t held = cache_.held_blocks(pool).held(pieces_);
  std::erase_if(outside_, [&](const Outside& o) { return o.view.request == waiting.request; });
  outside_.push_back({waiting, blocks, held});
  std::int64_t tokens = blocks * cache_.block_tokens();
  loads_ = {};
  if (!tiers_.any() || waiting.elsewhere) return {tokens, held};
  loads_ = tiers_.find(waiting.request, tokens, waiting.known_tokens);
  for (const TierTokens& load : loads_) tokens += load.tokens;
  return {tokens, held, loads_beside_steps_ && !loads_.empty()};
}

void BatchPrefixes::admit(const SequenceView& waiting) {
  // One that arrives in the middle of its generation is not looked up: what it has computed is not here yet.
  if (std::erase_if(outside_, [&](const Outside& o) { return o.view.request == waiting.request; }) == 0)
    return;
  if (waiting.computed_tokens == 0) return;
  const std::int64_t blocks = pieces_.empty() ? 0 : pieces_.back().last;
  promised_.push_back({waiting.request, blocks, pieces_, {loads_.begin(), loads_.end()}});
  if (tiers_.any()) tiers_.load(waiting.request, blocks * cache_.block_tokens(), promised_.back().loads);
  const int pool = this->pool(waiting);
  promised_free_[static_cast<std::size_t>(pool)] += cache_.held_blocks(pool).promise(pieces_);
}

std::int64_t BatchPrefixes::begin_alike(const SequenceView& one, const SequenceView& other) const {
  return std::min(
      {path_.contents().common(one.request, other.request), one.known_tokens, other.known_tokens});
}

std::int64_t BatchPrefixes::give_up(const SequenceView& running) {
  const std::int64_t others = running.blocks - cache_.published(running.request);
  return others + cache_.held_blocks(pool(running)).give_up(cache_.holding(running.request));
}

BatchPrefixes::Held BatchPrefixes::hold(const SequenceView& admitted) {
  const auto promise = std::ranges::find(promised_, admitted.request, &Promise::request);
  if (promise == promised_.end()) return {};
  cache_.hold(admitted.request, promise->pieces, path_.asked(admitted.request), pool(admitted));
  return {promise->blocks, std::move(promise->loads)};
}

bool BatchPrefixes::unchanged() {
  for (int pool = 0; pool < cache_.channels(); ++pool) cache_.held_blocks(pool).begin_batch();
  return std::ranges::all_of(outside_, [&](const Outside& o) {
    return find(o.view, 0, KvBlocks::Look::engine, left_out_) == o.blocks &&
           cache_.held_blocks(pool(o.view)).held(pieces_) == o.held;
  });
}

// Blocks that are found and computed again are found no less.
std::int64_t BatchPrefixes::free_before_found(int pool) {
  std::int64_t least = cache_.free(pool);
  for (const Outside& o : outside_) {
    if (this->pool(o.view) != pool) continue;
    find(o.view, 0, KvBlocks::Look::engine, 0);
    least = std::min(least, cache_.held_blocks(pool).free_before(pieces_, cache_.free(pool)));
  }
  return least;
}

}  // namespace weir
