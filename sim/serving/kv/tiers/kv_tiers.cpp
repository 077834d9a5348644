#include "sim/serving/kv/tiers/kv_tiers.h"

#include <algorithm>
#include <limits>

namespace weir {

std::span<const TierTokens> KvTiers::find(std::int32_t request, std::int64_t in_cache, std::int64_t known) {
  found_.clear();
  const std::span<const TextBlocks> text = path_(request, known / chunk_tokens_);
  std::int64_t tokens = in_cache;
  for (std::size_t tier = 0; tier < tiers_.size();) {
    const std::int64_t first = tokens / chunk_tokens_;
    const std::int64_t chunks = until_nearer(tier, text, first, tiers_[tier]->find(text, first));
    const std::int64_t end = std::min((first + chunks) * chunk_tokens_, known - 1);
    if (end <= tokens) {
      ++tier;
      continue;
    }
    if (!found_.empty() && found_.back().tier == tier)
      found_.back().tokens += end - tokens;
    else
      found_.push_back({tier, end - tokens});
    tokens = end;
    if (tokens == known - 1) break;
    tier = tier == 0 ? 1 : 0;  // a nearer one may have the next chunk again
  }
  return found_;
}

// So many of the chunks that a tier has, until one that a nearer tier has too.
std::int64_t KvTiers::until_nearer(std::size_t tier, std::span<const TextBlocks> text, std::int64_t first,
                                   std::int64_t chunks) const {
  for (std::int64_t chunk = 1; tier > 0 && chunk < chunks; ++chunk)
    for (std::size_t nearer = 0; nearer < tier; ++nearer)
      if (tiers_[nearer]->find(text, first + chunk) > 0) return chunk;
  return chunks;
}

void KvTiers::load(std::int32_t request, std::int64_t in_cache, std::span<const TierTokens> found) {
  std::int64_t end = in_cache;
  for (const TierTokens& part : found) {
    const std::int64_t first = end / chunk_tokens_;
    end += part.tokens;
    const std::int64_t last = (end + chunk_tokens_ - 1) / chunk_tokens_;
    const std::span<const TextBlocks> text = path_(request, last);
    for (std::size_t tier = 0; tier <= part.tier; ++tier) tiers_[tier]->use(text, first, last);
  }
}

std::int64_t KvTiers::lacks(std::size_t tier, std::int32_t request, std::int64_t tokens) {
  const std::int64_t chunks = tokens / chunk_tokens_;
  const std::span<const TextBlocks> text = path_(request, chunks);
  std::int64_t missing = 0;
  for (std::int64_t at = 0; at < chunks;) {
    at += tiers_[tier]->find(text, at);
    if (at < chunks) ++missing, ++at;
  }
  return missing * chunk_tokens_;
}

void KvTiers::count(std::int32_t request, std::int64_t tokens) {
  for (const TextBlocks& part : path_(request, tokens / chunk_tokens_)) {
    std::vector<std::uint8_t>& counts = counts_[part.text];
    const auto chunks = static_cast<std::size_t>(part.last - part.first);
    counts.resize(std::max(counts.size(), chunks));
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      if (counts[chunk] < std::numeric_limits<std::uint8_t>::max()) ++counts[chunk];
  }
}

// A prompt that begins with a chunk begins with those before it: counts fall along a text.
std::int64_t KvTiers::counted(std::int32_t request, std::int64_t tokens, std::int64_t times) {
  for (const TextBlocks& part : path_(request, tokens / chunk_tokens_)) {
    const auto known = counts_.find(part.text);
    for (std::int64_t chunk = part.first; chunk < part.last; ++chunk) {
      const auto at = static_cast<std::size_t>(chunk - part.first);
      if (known == counts_.end() || at >= known->second.size() || known->second[at] < times)
        return chunk * chunk_tokens_;
    }
  }
  return tokens;
}

void KvTiers::stored(std::size_t tier, std::int32_t request, std::int64_t tokens) {
  const std::int64_t chunks = tokens / chunk_tokens_;
  tiers_[tier]->add(path_(request, chunks), 0, chunks);
}

}  // namespace weir
