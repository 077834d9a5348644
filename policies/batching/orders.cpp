// chunked_prefill that admits waiting requests in another order than that of their arrival. One more order is
// a rank here and a row of the table at the end. A run of steps ends by itself where an arrival may come
// first.
#include "policies/batching/orders.h"

#include <algorithm>
#include <span>

#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

struct Waiting {
  std::int64_t rank;             // the lowest is admitted first
  const SequenceView* sequence;  // of one span: of equals the one in front, which has the lower address
  auto operator<=>(const Waiting&) const = default;
};

// Ranks all that wait. False: in the order of arrival.
using Ranks = bool (*)(const ServingView& view, BatchBuilder& builder, std::span<Waiting> queue);

// None is admitted past the first, where that lacks KV blocks. One of a high rank may wait for ever.
class InOrder final : public LimitedBatching {
 public:
  InOrder(const BatchLimits& limits, Ranks ranks) : LimitedBatching(limits), ranks_(ranks) {}

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    builder.run();
    if (!builder.open() || view.waiting.empty()) return;
    boost::container::small_vector<Waiting, 64> queue;
    for (const SequenceView& waiting : view.waiting) queue.push_back({0, &waiting});
    if (!ranks_(view, builder, {queue.data(), queue.size()})) return builder.add_in_order();
    std::ranges::make_heap(queue, std::greater<>());
    while (builder.open() && !queue.empty()) {
      const SequenceView& first = *queue.front().sequence;
      const std::int64_t pending = builder.look_up(first).pending();
      if (!builder.add(first, std::min(pending, builder.tokens_left()))) {
        batch.valid.wakes_on.any_arrival = true;  // one of a lower rank may find its blocks
        return;
      }
      std::ranges::pop_heap(queue, std::greater<>());
      queue.pop_back();
    }
  }

 private:
  Ranks ranks_;
};

// Each has a rank of its own, whatever else waits.
template <std::int64_t (*rank)(const SequenceView&)>
bool by(const ServingView&, BatchBuilder&, std::span<Waiting> queue) {
  for (Waiting& waiting : queue) waiting.rank = rank(*waiting.sequence);
  return true;
}

std::int64_t prompt_tokens(const SequenceView& waiting) {
  return waiting.input_tokens;
}

// Blocks that a preempted request may find again are not counted: others may take them before it comes back.
std::int64_t tokens_left(const SequenceView& waiting) {
  return waiting.final_tokens() - (waiting.elsewhere ? waiting.computed_tokens : 0);
}

// SGLang's "lpm" (python/sglang/srt/managers/schedule_policy.py, commit 00550cd): the request that finds most
// of its prompt first, so that what is there is used before it goes. One that finds little and begins as
// another that waits before it does comes last: it will find more once that one is computed.
bool by_found_prefix(const ServingView& view, BatchBuilder& builder, std::span<Waiting> queue) {
  constexpr std::size_t most_sorted = 128;      // _determine_active_policy()
  constexpr std::int64_t little = 32;           // IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD
  constexpr std::int64_t begins_as_other = 32;  // IN_BATCH_PREFIX_CACHING_DEPRIORITIZE_THRESHOLD
  if (!view.prefixes || queue.size() > most_sorted) return false;
  boost::container::small_vector<const SequenceView*, 16> firsts;
  for (auto& [rank, waiting] : queue) {
    const std::int64_t found = builder.look_up(*waiting).computed_tokens;
    const bool begins_alike = found <= little && std::ranges::any_of(firsts, [&](const SequenceView* other) {
                                return view.prefixes->begin_alike(*waiting, *other) >= begins_as_other;
                              });
    if (found <= little && !begins_alike) firsts.push_back(waiting);
    rank = begins_alike ? 1 : -found;
  }
  return true;
}

template <Ranks ranks>
std::shared_ptr<const BatchingPolicy> in_order(Params& params) {
  return std::make_shared<InOrder>(BatchLimits::from(params), ranks);
}

std::shared_ptr<const BatchingPolicy> shortest_first(Params& params) {
  static const Choices<Ranks> lengths = {{"prompt", by<prompt_tokens>}, {"remaining", by<tokens_left>}};
  const Ranks length =
      params.choice({"by",
                     "who is shortest: prompt, by its prompt; remaining, by what is left to compute and to "
                     "generate, which assumes a perfect prediction of the output's length"},
                    lengths, "prompt");
  return std::make_shared<InOrder>(BatchLimits::from(params), length);
}

}  // namespace

Catalog<BatchingPolicy> waiting_orders() {
  return {
      {"shortest_first", "chunked_prefill that admits the shortest prompt first, or who has least left",
       shortest_first},
      {"longest_prefix_match",
       "chunked_prefill that admits first who finds most of its prompt (SGLang's lpm)",
       in_order<by_found_prefix>},
  };
}

}  // namespace weir
