// Shortest job first, not preemptive: chunked_prefill, but for whom it admits. Of all that wait it is the one
// with the shortest prompt, or with the fewest tokens left to compute and to generate; of equals the one in
// front. Nobody joins past the shortest, where that lacks KV blocks: whoever is longer waits as well. A long
// one may wait for ever, as in every such policy.
#include <algorithm>

#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

// Blocks that a preempted request may find again are not counted: others may take them before it comes back.
std::int64_t tokens_left(const SequenceView& waiting) {
  return waiting.final_tokens() - (waiting.elsewhere ? waiting.computed_tokens : 0);
}

std::int64_t prompt_tokens(const SequenceView& waiting) {
  return waiting.input_tokens;
}

using Length = std::int64_t (*)(const SequenceView&);

class ShortestFirst final : public LimitedBatching {
 public:
  ShortestFirst(const BatchLimits& limits, Length length) : LimitedBatching(limits), length_(length) {}

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    builder.run();
    if (!builder.open() || view.waiting.empty()) return;
    boost::container::small_vector<Waiting, 64> queue;
    for (const SequenceView& waiting : view.waiting) queue.push_back({length_(waiting), &waiting});
    std::ranges::make_heap(queue, std::greater<>());
    while (builder.open() && !queue.empty()) {
      const SequenceView& shortest = *queue.front().sequence;
      const std::int64_t pending = builder.look_up(shortest).pending();
      if (!builder.add(shortest, std::min(pending, builder.tokens_left()))) {
        batch.valid.wakes_on.any_arrival = true;  // a shorter one may find its blocks
        return;
      }
      std::ranges::pop_heap(queue, std::greater<>());
      queue.pop_back();
    }
  }

 private:
  struct Waiting {
    std::int64_t length;
    const SequenceView* sequence;  // of one span: whoever is in front has the lower address
    auto operator<=>(const Waiting&) const = default;
  };

  Length length_;
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_shortest_first_batching(Params& params) {
  static const Choices<Length> lengths = {{"prompt", prompt_tokens}, {"remaining", tokens_left}};
  const Length length =
      params.choice({"by",
                     "who is shortest: prompt, by its prompt; remaining, by what is left to compute and to "
                     "generate, which assumes a perfect prediction of the output's length"},
                    lengths, "prompt");
  return std::make_shared<ShortestFirst>(BatchLimits::from(params), length);
}

}  // namespace weir
