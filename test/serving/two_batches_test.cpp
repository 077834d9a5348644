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
