// L3's scheduler (Section 5.3): halves of decodes, prompts that fill the GPU's time up to the PIM's, the last
// one cut.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "test/policies/naive_engine.h"

using namespace weir;

namespace {

constexpr std::int64_t many = 1 << 30;

// A GPU whose time grows with every token, and more than storing it takes; a memory of several channels, the
// fullest of which is waited for.
class Times final : public StepTimes {
 public:
  double row = 1, pair = 1e-4, stored = 0.1, attended = 0.02;
  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override {
    double sum = 0;
    for (const PrefillChunk& c : chunks)
      sum += pair * static_cast<double>(c.tokens) * static_cast<double>(c.context + c.tokens / 2);
    return Seconds(sum);
  }
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override {
    return Seconds(row * static_cast<double>(prompt_tokens + decodes));
  }
  Seconds offloaded(const OffloadedWork& work) const override {
    std::map<int, double> tokens{{0, 0}};
    for (const DecodeContext& context : work.contexts)
      tokens[context.channel] += static_cast<double>(context.tokens);
    double most = 0;
    for (const auto& [channel, sum] : tokens) most = std::max(most, sum);
    return Seconds(attended * most + stored * static_cast<double>(work.prompt_tokens));
  }
};

SequenceView decode(std::int64_t tokens, int channel) {
  SequenceView view{tokens - 1, 1000, tokens, tokens - 1, (tokens - 1 + 15) / 16, false, tokens - 1};
  view.channel = static_cast<std::int16_t>(channel);
  return view;
}
SequenceView prompt(std::int64_t tokens, std::int64_t computed = 0) {
  return {tokens, 1000, tokens, computed, (computed + 15) / 16, false, tokens};
}

struct State {
  std::vector<SequenceView> running, waiting;
  Times times;
  std::int64_t min_prompt_tokens = 1, max_requests = 100000, max_tokens = 1 << 20, blocks = many;
  Batch next() const {
    Batch batch;
    const std::vector<std::int64_t> free{blocks};
    const std::vector<int> pools(64, 0);  // all channels together
    make_policy("adaptive_chunk_interleaving", max_requests, max_tokens,
                {{"min_prompt_tokens", min_prompt_tokens}})
        ->next({running, waiting, free, many, 16, Admission::chunk, 1, &times, pools}, batch);
    return batch;
  }
  const SequenceView& of(const Slice& slice) const {
    const auto i = static_cast<std::size_t>(slice.sequence);
    return i < running.size() ? running[i] : waiting[i - running.size()];
  }
};

std::vector<SequenceView> random_decodes(Dice& dice, std::int64_t most, int channels) {
  std::vector<SequenceView> running;
  const std::int64_t longest = dice(1, dice(0, 1) ? 30000 : 12);  // many equal ones, too
  for (std::int64_t i = dice(1, most); i > 0; --i)
    running.push_back(
        decode(dice(0, 3) ? dice(1, longest) : longest, static_cast<int>(dice(0, channels - 1))));
  return running;
}

std::set<std::int64_t> lengths_in(const State& state, const Batch& batch, int half) {
  std::set<std::int64_t> lengths;
  for (const Slice& slice : batch.slices)
    if (slice.sub_batch == half) lengths.insert(state.of(slice).known_tokens);
  return lengths;
}

// By half: first whole prompts, at most the last of them cut.
struct Half {
  std::vector<DecodeContext> contexts;
  std::vector<PrefillChunk> chunks;
  std::int64_t context_sum = 0, prompt_tokens = 0, last_pending = 0;
  int cut = 0;
  bool last_is_cut = false;
};

std::array<Half, 2> halves(const State& state, const Batch& batch) {
  std::array<Half, 2> all;
  for (const Slice& slice : batch.slices) {
    const SequenceView& sequence = state.of(slice);
    Half& half = all.at(static_cast<std::size_t>(slice.sub_batch));
    if (!sequence.prefilling()) {
      half.contexts.push_back({sequence.known_tokens, sequence.channel});
      half.context_sum += sequence.known_tokens;
    } else {
      half.chunks.push_back({slice.tokens, sequence.computed_tokens});
      half.prompt_tokens += slice.tokens;
      half.last_pending = sequence.pending();
      half.last_is_cut = slice.tokens < sequence.pending();
      half.cut += half.last_is_cut;
    }
  }
  return all;
}

// The GPU's time of a half less the PIM's of the other, its last prompt with so many tokens.
double excess(const Times& times, const Half& half, const Half& other, std::int64_t last) {
  std::vector<PrefillChunk> chunks = half.chunks;
  const std::int64_t tokens = half.prompt_tokens - chunks.back().tokens + last;
  chunks.back().tokens = last;
  if (last == 0) chunks.pop_back();
  const auto decodes = [](const Half& h) { return std::ssize(h.contexts); };
  const OffloadedWork pim{decodes(other), other.context_sum, tokens, other.contexts};
  return (times.prefill_attention(chunks) + times.batched(tokens, decodes(half)) - times.offloaded(pim))
      .value();
}

}  // namespace

TEST_CASE("adaptive chunks: the paper's example is parted as in the paper", "[adaptive]") {
  State state{{decode(2000, 0), decode(3000, 0), decode(4000, 0), decode(5000, 0)}, {}, {}};
  const Batch batch = state.next();
  CHECK(batch.sub_batches == 2);
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
    REQUIRE(batch.sub_batches == (batch.slices.size() > 1 ? 2 : 1));
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
  std::int64_t checked = 0, ended = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, dice(0, 1) ? 9 : 60, static_cast<int>(dice(1, 6))), {}, {}};
    const Batch first = state.next();
    REQUIRE(first.repeatable);
    REQUIRE(first.same_steps >= 1);
    const auto grow = [&](std::int64_t steps) {
      for (SequenceView& sequence : state.running) {
        sequence.known_tokens += steps, sequence.computed_tokens += steps;
        sequence.blocks = (sequence.computed_tokens + 15) / 16;
      }
    };
    std::int64_t grown = 0;
    for (const std::int64_t at :
         {std::int64_t{1}, first.same_steps / 2, first.same_steps - 1, dice(0, first.same_steps - 1)}) {
      const std::int64_t step = std::min<std::int64_t>(at, 100000);
      if (step < 0 || step >= first.same_steps) continue;
      grow(step - grown), grown = step;
      const Batch then = state.next();
      INFO("seed " << seed << " step " << step << " of " << first.same_steps);
      REQUIRE(then.repeatable);
      REQUIRE(then.sub_batches == first.sub_batches);
      REQUIRE(then.slices.size() == first.slices.size());
      for (std::size_t i = 0; i < then.slices.size(); ++i) {
        REQUIRE(then.slices[i].sequence == first.slices[i].sequence);
        REQUIRE(then.slices[i].sub_batch == first.slices[i].sub_batch);
      }
      REQUIRE(then.same_steps >= first.same_steps - step);
      ++checked;
    }
    ended += first.same_steps < 100000;
  }
  CHECK(checked > 3000);
  CHECK(ended > 100);
}

TEST_CASE("adaptive chunks: no other multiple of 16 brings the GPU closer to the PIM beside it",
          "[adaptive]") {
  int cut = 0, between = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, 60, static_cast<int>(dice(1, 4))), {}, {}};
    state.times.attended = 0.001 * static_cast<double>(dice(1, 60));
    state.times.row = 0.2 + 0.1 * static_cast<double>(dice(0, 10));
    for (std::int64_t i = dice(0, 2); i > 0; --i) {
      const std::int64_t tokens = dice(2, 3000);
      state.running.push_back(prompt(tokens, dice(1, tokens - 1)));
    }
    for (std::int64_t i = dice(0, 30); i > 0; --i) state.waiting.push_back(prompt(dice(1, 2000)));
    const Batch batch = state.next();
    const auto both = halves(state, batch);
    for (const int h : {0, 1}) {
      const Half &half = both.at(static_cast<std::size_t>(h)),
                 &other = both.at(static_cast<std::size_t>(1 - h));
      INFO("seed " << seed << " half " << h);
      REQUIRE(half.cut <= 1);
      REQUIRE((half.cut == 0 || half.last_is_cut));
      if (half.chunks.empty()) continue;
      // Those before it left room.
      if (half.chunks.size() > 1) REQUIRE(excess(state.times, half, other, 0) < 0);
      const std::int64_t taken = half.chunks.back().tokens;
      if (!half.last_is_cut) continue;
      ++cut;
      REQUIRE((taken % 16 == 0 || taken == 1));  // 1: where the decodes alone take longer
      if (excess(state.times, half, other, 0) >= 0) continue;
      ++between;
      const double ours = std::abs(excess(state.times, half, other, taken));
      for (std::int64_t tokens = 16; tokens < half.last_pending + 16; tokens += 16)
        REQUIRE(ours <=
                std::abs(excess(state.times, half, other, std::min(tokens, half.last_pending))) + 1e-9);
    }
  }
  CHECK(cut > 500);
  CHECK(between > 300);
}

TEST_CASE("adaptive chunks: prompts go on joining until the GPU's time is the PIM's", "[adaptive]") {
  int filled = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, 60, 2), {}, {}};
    state.times.attended = 0.05;
    for (std::int64_t i = dice(1, 30); i > 0; --i) state.waiting.push_back(prompt(dice(1, 200)));
    const Batch batch = state.next();
    const auto both = halves(state, batch);
    std::int64_t prompts = 0;
    for (const Half& half : both) prompts += std::ssize(half.chunks);
    if (prompts == std::ssize(state.waiting)) continue;  // all of them joined
    ++filled;
    for (const int h : {0, 1}) {
      const Half &half = both.at(static_cast<std::size_t>(h)),
                 &other = both.at(static_cast<std::size_t>(1 - h));
      INFO("seed " << seed << " half " << h);
      REQUIRE_FALSE(half.chunks.empty());
      // Half a tile short of it at most.
      if (half.last_is_cut)
        REQUIRE((half.chunks.back().tokens == 1 ||
                 excess(state.times, half, other, half.chunks.back().tokens + 16) >= 0));
      else
        REQUIRE(excess(state.times, half, other, half.chunks.back().tokens) >= 0);
    }
  }
  CHECK(filled > 100);
}

TEST_CASE("adaptive chunks: a prompt that was cut comes before all others in the next step", "[adaptive]") {
  int continued = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, 60, 2), {}, {}};
    state.times.attended = 0.03;
    for (std::int64_t i = dice(1, 10); i > 0; --i) state.waiting.push_back(prompt(dice(1, 3000)));
    const Batch first = state.next();
    std::vector<SequenceView> cut;
    for (const Slice& slice : first.slices) {
      SequenceView sequence = state.of(slice);
      if (!sequence.prefilling() || slice.tokens == sequence.pending()) continue;
      sequence.computed_tokens += slice.tokens;
      sequence.blocks = (sequence.computed_tokens + 15) / 16;
      cut.push_back(sequence);
    }
    state.waiting.erase(state.waiting.begin(), state.waiting.begin() + first.admitted);
    const std::size_t decodes = state.running.size();
    state.running.insert(state.running.end(), cut.begin(), cut.end());
    const Batch then = state.next();
    INFO("seed " << seed);
    REQUIRE(cut.size() <= 2);  // one a sub-batch
    std::size_t next = decodes;
    for (const Slice& slice : then.slices) {  // in the order in which they were chosen
      if (!state.of(slice).prefilling()) continue;
      REQUIRE(static_cast<std::size_t>(slice.sequence) == next++);
      continued += static_cast<std::size_t>(slice.sequence) < state.running.size();
    }
    REQUIRE((cut.empty() || next > decodes));
  }
  CHECK(continued > 200);
}

TEST_CASE("adaptive chunks: where decodes alone keep the GPU longer, prompts still get their least",
          "[adaptive]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    State state{random_decodes(dice, 60, 2), {}, {}};
    state.times.attended = 0;  // no bubble is ever there to fill
    state.min_prompt_tokens = dice(1, 600);
    for (std::int64_t i = dice(1, 10); i > 0; --i) state.waiting.push_back(prompt(dice(1, 500)));
    // Each half takes prompts in turn up to its least; what is cut off waits for the next step.
    std::int64_t least = 0;
    std::size_t next = 0;
    for (int half = 0; half < 2; ++half)
      for (std::int64_t left = state.min_prompt_tokens; left > 0 && next < state.waiting.size(); ++next) {
        const std::int64_t tokens = std::min(left, state.waiting[next].pending());
        left -= tokens, least += tokens;
      }
    std::int64_t taken = 0;
    const auto both = halves(state, state.next());
    for (const Half& half : both) taken += half.prompt_tokens;
    INFO("seed " << seed);
    REQUIRE(taken == least);
  }
}

TEST_CASE("adaptive chunks: without the times of steps it says so", "[adaptive]") {
  const std::vector<std::int64_t> free{9};
  const std::vector<SequenceView> running{decode(10, 0)};
  Batch batch;
  CHECK_THROWS_AS(make_policy("adaptive_chunk_interleaving", 4, 32)
                      ->next({running, {}, free, 9, 16, Admission::chunk, 1}, batch),
                  std::logic_error);
}
