#pragma once
// The prefetches of a step and the operators that they are for, chain by chain: how much the policy fetches,
// how much of it is still in the cache, and what both then cost. PlayedStep asks; nobody else needs it.
#include <memory>
#include <vector>

#include "models/memory/cache.h"
#include "sim/engine/scenario.h"
#include "sim/engine/step/step_cost.h"
#include "sim/engine/timeline/stage_step.h"

namespace weir {

class Prefetched {
 public:
  Prefetched(const ReplicaSpec& replica, const StageStep& step, const StageGraph& placed);

  // Those that another class must not cost: prefetches and what they are for.
  static std::vector<bool> covered(const OperatorGraph& part);

  // Sets the times and rates of one chain's prefetches and of their readers; returns their sum.
  StepCost fill(Timeline& timeline, const StepGraph& graph, std::size_t chain, const BatchShape& batch);

 private:
  struct Fetch {
    Operator fetch, reader;
    double times;                                // a step
    std::vector<int> fetch_index, reader_index;  // in the graph, by chain
  };
  void choose(const BatchShape& batch);
  Bytes share_of_cache() const;
  BytesPerSecond beside_a(const KernelCost& communication) const;  // a stream of prefetches
  KernelCost fetch_cost(Bytes bytes, BytesPerSecond stream) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const CollectiveModel> links_;
  std::shared_ptr<const PrefetchPolicy> policy_;
  std::vector<Operator> windows_;
  std::vector<Fetch> fetches_;  // window by window
  // Scratch, of each fetch.
  std::vector<PrefetchCandidate> candidates_;
  std::vector<Bytes> fetched_;
  std::vector<CachedRead> reads_;
  std::vector<KernelCost> uncached_;
  std::vector<BytesPerSecond> streams_;
};

}  // namespace weir
