// Memories behind a replica's KV cache: what a scenario says of them, and how many chunks of this model's
// keys and values they hold.
#include <fmt/format.h>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

KvTierSpec read_tier(Params& params, std::int64_t block_tokens) {
  KvTierSpec tier;
  tier.kind = params.choice<KvTierSpec::Kind>({"kind",
                                               "Where it is: each replica's part of its host's memory (a CXL "
                                               "memory's is one with that bandwidth), its "
                                               "disk, or one pool that all replicas share."},
                                              {{"host", KvTierSpec::Kind::host},
                                               {"disk", KvTierSpec::Kind::disk},
                                               {"shared", KvTierSpec::Kind::shared}});
  tier.capacity = params.quantity<Bytes>(
      {"capacity_gb", "Of the whole tier; what all ranks hold alike (MLA) lies there once."});
  tier.read = params.quantity_or_null<BytesPerSecond>(
      {"read_gb_per_s", "What a rank loads at most; null: what the link to its node carries."});
  tier.write = params.quantity_or_null<BytesPerSecond>({"write_gb_per_s", "The same of what it stores."});
  tier.latency = params.quantity<Seconds>({"latency_us", "From asking to the first byte."}, not_negative, 0);
  // 256: LMCache's chunk_size, lmcache/v1/config.py.
  tier.chunk_tokens = params.integer(
      {"chunk_tokens", "Prompts are stored, found and loaded in whole chunks of so many tokens."},
      {1, 1 << 20}, 256);
  tier.stores = params.choice<KvTierSpec::Stores>(
      {"stores", "What is stored: prompts, once they are computed, or their answers as well."},
      {{"prompt", KvTierSpec::Stores::prompt}, {"all", KvTierSpec::Stores::all}}, "prompt");
  tier.loads = params.choice<KvTierSpec::Loads>(
      {"loads",
       "While a request's chunks come, the steps of others go on (vLLM's connectors), or all wait (LMCache "
       "without its asynchronous loading)."},
      {{"overlapped", KvTierSpec::Loads::overlapped}, {"stall", KvTierSpec::Loads::stall}}, "overlapped");
  tier.stored_after_load = params.number(
      {"stored_after_load", "The share of prompts found in part in a tier whose rest is stored as well."},
      {0, 1}, 1);
  // write_through_threshold of sgl-project/sglang, srt/mem_cache/hiradix_cache.py (commit 0050c57): 1 of its
  // policy write_through, 3 of write_through_selective.
  tier.write_through_threshold = params.integer(
      {"write_through_threshold",
       "A chunk is stored when so many prompts have begun with it: 1 is HiCache's write_through, 3 its "
       "write_through_selective."},
      {1, 255}, 1);
  if (tier.chunk_tokens % block_tokens != 0)
    params.fail("chunk_tokens", fmt::format("expected a multiple of the KV cache's block_tokens, {} (got {})",
                                            block_tokens, tier.chunk_tokens));
  params.close();
  return tier;
}

bool is_away(const KvTierSpec& tier) {
  return tier.kind != KvTierSpec::Kind::host;
}

}  // namespace

std::vector<KvTierSpec> read_kv_tiers(Params& kv_cache, std::int64_t block_tokens) {
  constexpr std::size_t most = 8;
  std::vector<KvTierSpec> tiers;
  for (Params& params :
       kv_cache.list({"tiers", "Memories behind the KV cache that keep chunks of it, nearest first."}, 0,
                     Params::Presence::optional, most)) {
    tiers.push_back(read_tier(params, block_tokens));
    if (is_away(tiers.back()) && !params.describing() && !tiers.back().read)
      params.fail("read_gb_per_s", "is needed: no link of the scenario says how fast this kind of tier is");
    if (is_away(tiers.back()) && !params.describing() && !tiers.back().write)
      params.fail("write_gb_per_s", "is needed: no link of the scenario says how fast this kind of tier is");
  }
  for (std::size_t i = 1; i < tiers.size(); ++i) {
    const auto fail = [&](const char* key, const char* what) {
      kv_cache.fail(fmt::format("tiers/{}/{}", i, key), what);
    };
    if (tiers[i].chunk_tokens != tiers[0].chunk_tokens)
      fail("chunk_tokens", "expected the first tier's: chunks go from one to the other");
    if (tiers[i].loads != tiers[0].loads)
      fail("loads", "expected the first tier's: one request waits for both");
  }
  return tiers;
}

void fit_kv_tiers(const Scenario& s, ReplicaPlan& replica, const std::string& pointer, Reading& reading) {
  const KvCacheSpec& cache = replica.spec.kv_cache;
  for (std::size_t i = 0; i < cache.tiers.size(); ++i) {
    const KvTierSpec& tier = cache.tiers[i];
    const Bytes chunk =
        static_cast<double>(tier.chunk_tokens) * kv_bytes_per_token(s.model, s.precision, {}, 0);
    // The attention-data ranks of a replica have each a part of it: every one has a scheduler of its own.
    const bool own = tier.kind != KvTierSpec::Kind::shared;
    const Bytes capacity = tier.capacity / (own ? replica.spec.parallelism.attention_data : 1);
    replica.tier_chunks.push_back(chunk > Bytes(0) ? static_cast<std::int64_t>(capacity / chunk) : 0);
    if (replica.tier_chunks.back() == 0)
      reading.misfit(
          fmt::format("{}/kv_cache/tiers/{}/capacity_gb", pointer, i),
          fmt::format("a chunk of {} tokens of {} is {:.4g} GB, and {:.4g} GB are there for it",
                      tier.chunk_tokens, s.model.name, chunk.value() / 1e9, capacity.value() / 1e9));
  }
}

}  // namespace weir
