// SGLang's "lpm" order (python/sglang/srt/managers/schedule_policy.py, commit 00550cd): chunked_prefill that
// admits first who finds most of its prompt, so that what is there is used before it goes. One that finds
// little and begins as another that waits before it does comes last: it will find more once that one is
// computed. With many waiting it is first come first served.
#include <algorithm>

#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

constexpr std::size_t most_sorted = 128;      // _determine_active_policy()
constexpr std::int64_t little = 32;           // IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD
constexpr std::int64_t begins_as_other = 32;  // IN_BATCH_PREFIX_CACHING_DEPRIORITIZE_THRESHOLD

class LongestPrefixMatch final : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    builder.run();
    if (!builder.open()) return;
    if (!view.prefixes || view.waiting.size() > most_sorted) return builder.add_in_order();
    for (const SequenceView* waiting : in_order(view, builder)) {
      const std::int64_t pending = builder.look_up(*waiting).pending();
      if (builder.open() && builder.add(*waiting, std::min(pending, builder.tokens_left()))) continue;
      batch.valid.wakes_on.any_arrival = true;  // it may find more
      return;
    }
  }

 private:
  using Queue = boost::container::small_vector<const SequenceView*, 16>;

  static Queue in_order(const ServingView& view, BatchBuilder& builder) {
    struct Waiting {
      std::int64_t found;
      const SequenceView* sequence;
    };
    boost::container::small_vector<Waiting, 16> queue;
    Queue firsts, order, later;
    for (const SequenceView& waiting : view.waiting) {
      const std::int64_t found = builder.look_up(waiting).computed_tokens;
      const auto as_it_does = [&](const SequenceView* other) {
        return view.prefixes->begin_alike(waiting, *other) >= begins_as_other;
      };
      if (found <= little && std::ranges::any_of(firsts, as_it_does)) {
        later.push_back(&waiting);
        continue;
      }
      if (found <= little) firsts.push_back(&waiting);
      queue.push_back({found, &waiting});
    }
    std::ranges::stable_sort(queue, std::greater<>(), &Waiting::found);
    for (const Waiting& waiting : queue) order.push_back(waiting.sequence);
    order.insert(order.end(), later.begin(), later.end());
    return order;
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_longest_prefix_match_batching(Params& params) {
  return std::make_shared<LongestPrefixMatch>(BatchLimits::from(params));
}

}  // namespace weir
