#pragma once
// What a replica tells its batching policy of its KV cache while the policy puts a batch together, and
// afterwards the replica of what it told: who is admitted has what was found then, and who stays outside may
// have found blocks that somebody takes.
#include <functional>
#include <vector>

#include "policies/batching/batching.h"
#include "sim/serving/kv/kv_cache.h"
#include "sim/serving/kv/text_path.h"
#include "sim/serving/kv/tiers/kv_tiers.h"

namespace weir {

class BatchPrefixes final : public Prefixes {
 public:
  // `takes_over`: KV caches that lie elsewhere are those of other replicas, and what is here of them need not
  // be fetched; swapped ones are fetched whole. `pools` gives each memory channel its index into the cache's,
  // or is empty; the last `left_out` full blocks that are found are computed again. `write_up` publishes what
  // the cache holds of a text that is being written.
  using WriteUp = std::function<void(std::int32_t text)>;
  BatchPrefixes(KvCache& cache, KvTiers& tiers, bool loads_beside_steps, bool takes_over,
                const Contents& contents, std::span<const int> pools, std::int64_t left_out, WriteUp write_up)
      : cache_(cache),
        tiers_(tiers),
        loads_beside_steps_(loads_beside_steps),
        takes_over_(takes_over),
        path_(contents, cache.block_tokens()),
        pools_(pools),
        left_out_(left_out),
        write_up_(std::move(write_up)) {}

  void begin();  // another batch
  Found find(const SequenceView& waiting, std::int64_t gone) override;
  void admit(const SequenceView& waiting) override;
  std::int64_t begin_alike(const SequenceView& one, const SequenceView& other) const override;
  std::int64_t give_up(const SequenceView& running) override;

  // The texts that a request begins with are published as far as they are written.
  void write_up_before(std::int32_t request);
  // It holds what it was promised: these blocks, and behind them what it loads from the tiers.
  struct Held {
    std::int64_t blocks = 0;
    std::vector<TierTokens> loads = {};
  };
  Held hold(const SequenceView& admitted);
  // Whether those that stay outside find the same after the batch was carried out.
  bool unchanged();
  // Free blocks of a pool that are taken before any that they find.
  std::int64_t free_before_found(int pool);
  // That a text is written here now may change what they find.
  template <class Writes>
  bool finds_more(Writes writes) const;

  TextPath& path() { return path_; }
  bool loads_beside_steps() const { return loads_beside_steps_; }

 private:
  struct Outside {
    SequenceView view;
    std::int64_t blocks, held;
  };
  struct Promise {
    std::int32_t request;
    std::int64_t blocks;
    std::vector<KvBlocks::Piece> pieces;
    std::vector<TierTokens> loads;
  };
  int pool(const SequenceView& view) const {
    return pools_.empty() ? 0 : pools_[static_cast<std::size_t>(view.channel)];
  }
  std::int64_t find(const SequenceView& waiting, std::int64_t taken, KvBlocks::Look look,
                    std::int64_t left_out);

  KvCache& cache_;
  KvTiers& tiers_;
  bool loads_beside_steps_;
  bool takes_over_;
  TextPath path_;
  std::span<const int> pools_;
  std::int64_t left_out_;
  WriteUp write_up_;
  std::vector<KvBlocks::Piece> pieces_;  // that were found last
  std::span<const TierTokens> loads_;    // and what the tiers have behind them
  std::vector<Outside> outside_;         // who was looked up, and is not admitted
  std::vector<Promise> promised_;
  std::vector<std::int64_t> promised_free_;  // blocks, by pool
};

// Who writes the texts of their beginnings, if they are not written to where that beginning ends.
template <class Writes>
bool BatchPrefixes::finds_more(Writes writes) const {
  for (const Outside& outside : outside_)
    for (Origin origin = path_.contents().origin(outside.view.request); origin.request >= 0;
         origin = path_.contents().origin(origin.request))
      if (writes(origin)) return true;
  return false;
}

}  // namespace weir
