#include "sim/serving/kv/kv_cache.h"

namespace weir {
namespace {

const KvRuns::Holding holds_nothing;

std::int64_t end_of(const KvRuns::Holding& holding) {
  return holding.empty() ? 0 : holding.back().last;
}

}  // namespace

void KvCache::give(std::int32_t request, std::int64_t blocks, int channel) {
  const auto holding = holdings_.empty() ? holdings_.end() : holdings_.find(request);
  if (holding == holdings_.end()) {
    add_free(blocks, channel);
    return runs(channel).give(blocks);
  }
  const std::int64_t others = blocks - end_of(holding->second);
  add_free(runs(channel).release(holding->second, others, free(channel)), channel);
  holdings_.erase(holding);
}

void KvCache::hold(std::int32_t request, std::span<const KvRuns::Piece> pieces, std::int64_t asked,
                   int channel) {
  KvRuns::Holding& holding = holdings_[request];
  claim(runs(channel).hold(pieces, request, asked, holding), channel);
  if (holding.empty()) holdings_.erase(request);
}

void KvCache::publish(std::int32_t request, std::span<const TextBlocks> text, int channel) {
  const std::int64_t published = this->published(request);
  if (text.empty() || text.back().last <= published) return;
  KvRuns::Holding& holding = holdings_[request];
  for (TextBlocks part : text) {
    part.first = std::max(part.first, published);
    if (part.first < part.last) runs(channel).publish(part, holding);
  }
}

std::int64_t KvCache::published(std::int32_t request) const {
  return end_of(holding(request));
}

const KvRuns::Holding& KvCache::holding(std::int32_t request) const {
  const auto holding = holdings_.find(request);
  return holding == holdings_.end() ? holds_nothing : holding->second;
}

}  // namespace weir
