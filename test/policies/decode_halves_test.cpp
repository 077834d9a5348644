// L3's scheduler (Section 5.3): the halves of the decodes of a batch.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "test/policies/adaptive_state.h"

using namespace weir;
using namespace weir::test;

namespace {

std::set<std::int64_t> lengths_in(const State& state, const Batch& batch, int half) {
  std::set<std::int64_t> lengths;
  for (const Slice& slice : batch.slices)
    if (slice.sub_batch == half) lengths.insert(state.of(slice).known_tokens);
  return lengths;
}

}  // namespace

TEST_CASE("adaptive chunks: the paper's example is parted as in the paper", "[adaptive]") {
  State state{{decode(2000, 0), decode(3000, 0), decode(4000, 0), decode(5000, 0)}, {}, {}};
  const Batch batch = state.next();
  CHECK(batch.interleaving != Interleaving::none);
  const std::set<std::int64_t> outer{2000, 5000}, inner{3000, 4000};
  const bool first = lengths_in(state, batch, 0) == outer;
  CHECK(lengths_in(state, batch, first ? 0 : 1) == outer);
  CHECK(lengths_in(state, batch, first ? 1 : 0) == inner);
}

TEST_CASE("adaptive chunks: the halves' contexts differ by the longest one at most", "[adaptive]") {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Dice dice(seed);
    const int channels = static_cast<int>(dice(1, 16));
    State state{random_decodes(dice, dice(0, 1) ? 12 : 200, channels), {}, {}};
    const Batch batch = state.next();
    INFO("seed " << seed);
    REQUIRE(batch.slices.size() == state.running.size());
    REQUIRE((batch.interleaving != Interleaving::none) == (batch.slices.size() > 1));
    std::int64_t sums[2] = {0, 0}, longest = 0, counts[2] = {0, 0};
    std::map<int, std::array<std::int64_t, 2>> in_channel;
    for (const Slice& slice : batch.slices) {
      const SequenceView& sequence = state.of(slice);
      sums[slice.sub_batch] += sequence.known_tokens;
      ++counts[slice.sub_batch];
      ++in_channel[sequence.channel][static_cast<std::size_t>(slice.sub_batch)];
      longest = std::max(longest, sequence.known_tokens);
    }
    if (batch.slices.size() > 1) {
      REQUIRE(std::abs(sums[0] - sums[1]) <= longest);
      for (const auto& [channel, count] : in_channel) REQUIRE(std::abs(count[0] - count[1]) <= 1);
    }
  }
}

TEST_CASE("adaptive chunks: a batch that says it stays the same for so many steps does, while all grow",
          "[adaptive]") {
  std::int64_t checked = 0, ended = 0, lasting = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, dice(0, 1) ? 9 : 60, static_cast<int>(dice(1, 6))), {}, {}};
    const Batch first = state.next();
    REQUIRE(first.valid.steps >= 1);
    const auto grow = [&](std::int64_t steps) {
      for (SequenceView& sequence : state.running) {
        sequence.known_tokens += steps, sequence.computed_tokens += steps;
        sequence.blocks = (sequence.computed_tokens + 15) / 16;
      }
    };
    std::int64_t grown = 0;
    for (const std::int64_t at :
         {std::int64_t{1}, first.valid.steps / 2, first.valid.steps - 1, dice(0, first.valid.steps - 1)}) {
      const std::int64_t step = std::min<std::int64_t>(at, 100000);
      if (step < 0 || step >= first.valid.steps) continue;
      grow(step - grown), grown = step;
      const Batch then = state.next();
      INFO("seed " << seed << " step " << step << " of " << first.valid.steps);
      REQUIRE(then.interleaving == first.interleaving);
      REQUIRE(then.slices.size() == first.slices.size());
      for (std::size_t i = 0; i < then.slices.size(); ++i) {
        REQUIRE(then.slices[i].request == first.slices[i].request);
        REQUIRE(then.slices[i].sub_batch == first.slices[i].sub_batch);
      }
      REQUIRE(then.valid.steps >= first.valid.steps - step);
      ++checked;
    }
    ended += first.valid.steps < 100000;
    lasting += first.valid.steps > 1;
  }
  CHECK(checked > 3000);
  CHECK(ended > 100);
  CHECK(lasting > 0);
}
