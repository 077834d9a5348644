#include "models/machine/batch_shape.h"

#include <array>
#include <catch2/catch.hpp>

using namespace weir;

namespace {

BatchShape decoding(std::int64_t decodes, std::int64_t context) {
  BatchShape batch;
  batch.decodes = batch.sequences = decodes;
  batch.decode_context_sum = decodes * context;
  batch.decode_context_max = decodes > 0 ? context : 0;
  return batch;
}

}  // namespace

TEST_CASE("lockstep: decodes are filled up to the fullest rank, on every rank") {
  const std::array ranks{decoding(3, 100), decoding(7, 10), decoding(0, 0)};
  const BatchShape all = in_lockstep(ranks);
  CHECK(all.rows() == 7);
  CHECK(all.sequences == 7);
  CHECK(all.routed_rows() == 3 * 7);
  CHECK(all.ranks.size() == 3);
}

TEST_CASE(
    "lockstep: a step with prompts has the tokens that there are, and is a step with prompts on all ranks") {
  const PrefillChunk chunk{50, 0};
  BatchShape prompt = decoding(2, 100);
  prompt.prefill = {&chunk, 1};
  prompt.prefill_tokens = 50;
  const std::array ranks{decoding(90, 10), prompt};
  const BatchShape all = in_lockstep(ranks);
  CHECK(all.prefill_tokens == 50);
  CHECK(all.rows() == 90);
  CHECK(all.routed_rows() == 90 + 52);
}

TEST_CASE("lockstep: of one rank it is that rank's batch") {
  const std::array ranks{decoding(5, 20)};
  CHECK(in_lockstep(ranks).counts() == ranks[0].counts());
}
