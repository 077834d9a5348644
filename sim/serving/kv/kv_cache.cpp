#include "sim/serving/kv/kv_cache.h"

#include "sim/serving/kv/blocks/kv_runs.h"
#include "sim/serving/kv/blocks/radix_tree.h"

namespace weir {
namespace {

const KvBlocks::Holding holds_nothing;

}  // namespace

KvCache::KvCache(std::vector<std::int64_t> channels, std::int64_t block_tokens, Index index)
    : totals_(std::move(channels)), block_tokens_(block_tokens), free_(totals_) {
  for (std::size_t channel = 0; channel < totals_.size(); ++channel)
    index == Index::radix_tree ? held_blocks_.push_back(std::make_unique<RadixTree>())
                               : held_blocks_.push_back(std::make_unique<KvRuns>());
}

void KvCache::give(std::int32_t request, std::int64_t blocks, int channel) {
  const auto holding = holdings_.empty() ? holdings_.end() : holdings_.find(request);
  if (holding == holdings_.end()) {
    add_free(blocks, channel);
    return held_blocks(channel).give(blocks);
  }
  const std::int64_t others = blocks - end_of(holding->second);
  add_free(held_blocks(channel).release(holding->second, others, free(channel)), channel);
  holdings_.erase(holding);
}

void KvCache::hold(std::int32_t request, std::span<const KvBlocks::Piece> pieces, std::int64_t asked,
                   int channel) {
  KvBlocks::Holding& holding = holdings_[request];
  claim(held_blocks(channel).hold(pieces, request, asked, holding), channel);
  if (holding.empty()) holdings_.erase(request);
}

void KvCache::publish(std::int32_t request, std::span<const TextBlocks> text, int channel) {
  if (text.empty() || text.back().last <= published(request)) return;
  add_free(held_blocks(channel).publish(text, holdings_[request]), channel);
}

std::int64_t KvCache::published(std::int32_t request) const {
  return end_of(holding(request));
}

const KvBlocks::Holding& KvCache::holding(std::int32_t request) const {
  const auto holding = holdings_.find(request);
  return holding == holdings_.end() ? holds_nothing : holding->second;
}

}  // namespace weir
