#pragma once
// The prefetches of a step and the operators that they are for, chain by chain: how much the policy fetches,
// how much of it is still in the cache, and what both then cost. PlayedStep asks; nobody else needs it.
#include <memory>
#include <vector>

#include "models/memory/cache.h"
#include "sim/step/cost/step_cost.h"
#include "sim/step/rank.h"
#include "sim/step/stage_step.h"

namespace weir {

class Prefetched {
 public:
  Prefetched(const Rank& rank, const StageStep& step, const StageGraph& placed);

  bool any() const { return !fetches_.empty(); }

  // Another class must not cost these: prefetches and what they are for.
  static std::vector<bool> covered(const OperatorGraph& part);

  // Sets the times and rates of prefetches and of their readers, the timeline being filled with all else;
  // returns their sum. Chains choose one after the other.
  StepCost fill(Timeline& timeline, const StepGraph& graph, std::span<const BatchShape> chains);

 private:
  struct Fetch {
    Operator fetch, reader;
    double times;                                // a step
    std::vector<int> fetch_index, reader_index;  // in the graph, by chain
    int window() const { return std::get<Prefetch>(fetch.kernel).window; }
  };
  struct Offered {  // to the policy, of each fetch
    std::vector<PrefetchCandidate> candidates;
    std::vector<KernelCost> uncached;
    std::vector<BytesPerSecond> streams;
    std::vector<double> asked_for;  // share of what it is for
  };
  void offer(Offered& offered, const BatchShape& batch) const;
  StepCost set(Timeline& timeline, const StepGraph& graph, std::size_t chain, std::span<const Bytes> fetched);
  Bytes share_of_cache() const;
  BytesPerSecond beside_a(const KernelCost& communication) const;  // a stream of prefetches
  KernelCost fetch_cost(Bytes bytes, BytesPerSecond stream) const;

  Rank rank_;
  std::shared_ptr<const PrefetchPolicy> policy_;
  std::vector<Operator> windows_;
  std::vector<Fetch> fetches_;    // window by window
  std::vector<Offered> offered_;  // by chain
  // Scratch, of each fetch.
  std::vector<Bytes> fetched_, nothing_;
  std::vector<CachedRead> reads_;
};

}  // namespace weir
