// L3's scheduler (Section 5.3): prompts that fill the GPU's time up to the PIM's, the last one cut. The
// halves of decodes: decode_halves_test.cpp.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "test/policies/adaptive_state.h"

using namespace weir;
using namespace weir::test;

namespace {

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
    state.waiting.erase(state.waiting.begin(), state.waiting.begin() + std::ssize(first.admitted));
    const std::size_t decodes = state.running.size();
    state.running.insert(state.running.end(), cut.begin(), cut.end());
    const Batch then = state.next();
    INFO("seed " << seed);
    REQUIRE(cut.size() <= 2);  // one a sub-batch
    std::size_t next = decodes;
    for (const Slice& slice : then.slices) {  // in the order in which they were chosen
      if (!state.of(slice).prefilling()) continue;
      REQUIRE(static_cast<std::size_t>(slice.request) == next++);
      continued += static_cast<std::size_t>(slice.request) < state.running.size();
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
