#include "sim/serving/replica/two_batches.h"

#include <catch2/catch.hpp>

using namespace weir;

namespace {

BatchShape batch(std::span<const PrefillChunk> chunks, std::int64_t decodes, std::int64_t contexts) {
  BatchShape shape;
  shape.prefill = chunks;
  for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.tokens;
  shape.decodes = decodes;
  shape.decode_context_sum = contexts;
  shape.decode_context_max = contexts;
  shape.sequences = decodes + std::ssize(chunks);
  return shape;
}

}  // namespace

TEST_CASE("two batches: tokens, contexts and those who yield tokens are in one of the halves") {
  const std::vector<PrefillChunk> chunks{{7, 100}, {1, 0}, {64, 0}};
  for (const std::int64_t decodes : {0, 1, 2, 5, 64}) {
    const BatchShape whole = batch(chunks, decodes, decodes * 333);
    TwoBatches two;
    const auto halves = two.cut(whole);
    REQUIRE(halves.size() == 2);
    CHECK(halves[0].tokens() + halves[1].tokens() == whole.tokens());
    CHECK(halves[0].decode_context_sum + halves[1].decode_context_sum == whole.decode_context_sum);
    CHECK(halves[0].sequences + halves[1].sequences == whole.sequences);
    for (const BatchShape& half : halves) {
      std::int64_t tokens = 0;
      for (const PrefillChunk& chunk : half.prefill) tokens += chunk.tokens;
      CHECK(tokens == half.prefill_tokens);
    }
  }
}

TEST_CASE("two batches: a prompt's second half attends to the first") {
  const std::vector<PrefillChunk> chunk{{10, 100}};
  TwoBatches two;
  const auto halves = two.cut(batch(chunk, 0, 0));
  CHECK(halves[0].prefill[0].tokens == 5);
  CHECK(halves[1].prefill[0].tokens == 5);
  CHECK(halves[1].prefill[0].context == 105);
}

TEST_CASE("two batches: ranks in lockstep are cut each, and one row alone is not") {
  const std::vector<PrefillChunk> chunk{{10, 0}};
  const std::vector<BatchShape> ranks{batch(chunk, 0, 0), batch({}, 8, 800)};
  TwoBatches two;
  const auto halves = two.cut(in_lockstep(ranks));
  REQUIRE(halves.size() == 2);
  CHECK(halves[0].ranks.size() == 2);
  CHECK(halves[0].routed + halves[1].routed == 18);
  CHECK(two.cut(batch({}, 1, 10)).empty());
}

TEST_CASE("two batches: the first half has the odd decode, the second the odd token and all that end") {
  const std::vector<PrefillChunk> chunks{{7, 100}, {1, 40}};
  BatchShape whole = batch(chunks, 5, 101);
  whole.decode_context_max = 33;
  whole.decode_rows = 3;
  whole.sequences = 6;  // one of the prompts ends
  TwoBatches two;
  const auto halves = two.cut(whole);
  REQUIRE(halves.size() == 2);
  // Three decodes and two; 101 * 2 / 5 of their contexts are 40 whole tokens.
  CHECK((halves[0].decodes == 3 && halves[1].decodes == 2));
  CHECK((halves[0].decode_context_sum == 61 && halves[1].decode_context_sum == 40));
  CHECK((halves[0].sequences == 3 && halves[1].sequences == 3));
  CHECK((halves[0].prefill_tokens == 3 && halves[1].prefill_tokens == 5));
  REQUIRE((halves[0].prefill.size() == 1 && halves[1].prefill.size() == 2));
  CHECK((halves[0].prefill[0].tokens == 3 && halves[0].prefill[0].context == 100));
  CHECK((halves[1].prefill[0].tokens == 4 && halves[1].prefill[0].context == 103));
  CHECK((halves[1].prefill[1].tokens == 1 && halves[1].prefill[1].context == 40));
  for (const BatchShape& half : halves) {
    CHECK(half.decode_rows == 3);
    CHECK(half.decode_context_max == 33);
    CHECK(half.beside_another);
  }
  // A single decode is in the first half; the other one has no longest context.
  const std::vector<PrefillChunk> one{{2, 0}};
  const auto of_one = two.cut(batch(one, 1, 9));
  CHECK((of_one[0].decodes == 1 && of_one[1].decodes == 0));
  CHECK((of_one[0].decode_context_sum == 9 && of_one[1].decode_context_sum == 0));
  CHECK((of_one[0].decode_context_max == 9 && of_one[1].decode_context_max == 0));
}

TEST_CASE("two batches: each rank's prompts are cut by themselves, whatever the other ranks have") {
  const std::vector<PrefillChunk> here{{5, 10}}, there{{9, 20}, {2, 0}};
  const std::vector<BatchShape> ranks{batch(here, 3, 30), batch(there, 4, 80)};
  TwoBatches two;
  const auto halves = two.cut(in_lockstep(ranks));
  REQUIRE((halves.size() == 2 && halves[0].ranks.size() == 2 && halves[1].ranks.size() == 2));
  CHECK((halves[0].ranks[0].prefill_tokens == 2 && halves[1].ranks[0].prefill_tokens == 3));
  CHECK((halves[0].ranks[1].prefill_tokens == 5 && halves[1].ranks[1].prefill_tokens == 6));
  CHECK((halves[1].ranks[0].prefill.size() == 1 && halves[1].ranks[0].prefill[0].context == 12));
  REQUIRE(halves[1].ranks[1].prefill.size() == 2);
  CHECK((halves[1].ranks[1].prefill[0].context == 24 && halves[1].ranks[1].prefill[1].context == 1));
  CHECK((halves[0].ranks[0].decodes == 2 && halves[0].ranks[1].decodes == 2));
  // 2 + 2 and 5 + 2 rows of the first halves, 3 + 1 and 6 + 2 of the second ones.
  CHECK((halves[0].routed == 11 && halves[1].routed == 12));
}
