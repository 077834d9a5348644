#pragma once
// The memories behind one replica's KV cache, nearest first: what of a prompt is loaded from which, and what
// is stored. After the tokens that the KV cache has, whole chunks are found one after another, each in the
// nearest tier that has it; what a far tier gave lies in the nearer ones afterwards, as it came through them.
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/serving/kv/text_path.h"
#include "sim/serving/kv/tiers/kv_tier.h"

namespace weir {

// Tokens of a request in one tier, from the first on that the tiers before do not give.
struct TierTokens {
  std::size_t tier;
  std::int64_t tokens;
};

class KvTiers {
 public:
  KvTiers(std::vector<std::shared_ptr<KvTier>> tiers, const Contents& contents, std::int64_t chunk_tokens)
      : tiers_(std::move(tiers)), path_(contents, chunk_tokens), chunk_tokens_(chunk_tokens) {}

  bool any() const { return !tiers_.empty(); }
  std::size_t size() const { return tiers_.size(); }
  const KvTier& operator[](std::size_t tier) const { return *tiers_[tier]; }
  // A request of so many tokens finds these behind those that the KV cache has: in the order of its text,
  // until the next call. All but its last token at most.
  std::span<const TierTokens> find(std::int32_t request, std::int64_t in_cache, std::int64_t known);
  // It loads that: what it found is used last, and lies in the nearer tiers as well.
  void load(std::int32_t request, std::int64_t in_cache, std::span<const TierTokens> found);
  // The tier lacks so many of the first tokens of a request, in whole chunks; and they are there now.
  std::int64_t lacks(std::size_t tier, std::int32_t request, std::int64_t tokens);
  void stored(std::size_t tier, std::int32_t request, std::int64_t tokens);
  // One more request's text begins with so many tokens of its own, in whole chunks; and so many of them are
  // in chunks with which that many have begun.
  void count(std::int32_t request, std::int64_t tokens);
  std::int64_t counted(std::int32_t request, std::int64_t tokens, std::int64_t times);

 private:
  std::int64_t until_nearer(std::size_t tier, std::span<const TextBlocks> text, std::int64_t first,
                            std::int64_t chunks) const;

  std::vector<std::shared_ptr<KvTier>> tiers_;
  TextPath path_;
  std::int64_t chunk_tokens_;
  std::vector<TierTokens> found_;
  std::unordered_map<std::int32_t, std::vector<std::uint8_t>> counts_;  // of a text's chunks, from its first
};

}  // namespace weir
