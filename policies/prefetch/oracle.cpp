// The best set of prefetches there is, as the step timeline plays it: every set of whole operators is tried,
// every step, those too of which the cache evicts a part. No runtime could decide so; it bounds whatever
// fetches whole operators beside their collectives, Algorithm 1 with any limit_mb, in figures and in tests.
// Among sets as short as the shortest, that of the fewest bytes, then the first. Sub-batches would each need
// the other's sets: they are refused.
#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "policies/prefetch/insertion.h"
#include "policies/prefetch/prefetch.h"

namespace weir {
namespace {

constexpr std::size_t most_candidates = 12;  // 4,096 steps played for one
constexpr double equal = 1 + 1e-9;           // what the timeline's sums of times may differ by

std::size_t prefetches(const StageGraph& stage) {
  std::size_t count = 0;
  for_each_operator(stage, [&](const Operator& op, double) { count += op.as<Prefetch>() != nullptr; });
  return count;
}

class Oracle final : public PrefetchPolicy {
 public:
  StageGraph add_prefetches(StageGraph stage, std::span<const Unit> units) const override {
    std::vector<CommunicationWindow> windows = communication_windows(stage);
    stage = insert_prefetches(std::move(stage), units, std::move(windows));
    if (const std::size_t count = prefetches(stage); count > most_candidates)
      throw std::invalid_argument(
          fmt::format("oracle tries every set of prefetches, of {} at most; a stage of this model has {}",
                      most_candidates, count));
    return stage;
  }

  void choose(const PrefetchView& view, std::span<Bytes> fetched) const override {
    struct Tried {
      unsigned set;
      Bytes bytes;
      Seconds time;
    };
    std::vector<Tried> tried;
    Seconds shortest(std::numeric_limits<double>::infinity());
    for (unsigned set = 0; set < 1u << view.candidates.size(); ++set) {
      const Bytes bytes = take(view, set, fetched);
      tried.push_back({set, bytes, view.step_time(fetched)});
      shortest = std::min(shortest, tried.back().time);
    }
    const Tried* best = nullptr;
    for (const Tried& t : tried)
      if (t.time <= equal * shortest && (!best || t.bytes < best->bytes)) best = &t;
    take(view, best->set, fetched);
  }

  bool of_one_batch() const override { return true; }

 private:
  static Bytes take(const PrefetchView& view, unsigned set, std::span<Bytes> fetched) {
    Bytes sum;
    for (std::size_t i = 0; i < view.candidates.size(); ++i) {
      fetched[i] = set >> i & 1 ? view.candidates[i].bytes : Bytes(0);
      sum += fetched[i];
    }
    return sum;
  }
};

}  // namespace

std::shared_ptr<const PrefetchPolicy> make_prefetch_oracle(Params&) {
  return std::make_shared<Oracle>();
}

}  // namespace weir
