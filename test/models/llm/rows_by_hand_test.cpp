// Rows of each kind in one batch of prompts, decodes with drafts, padding and data ranks, by hand.
#include <catch2/catch.hpp>

#include "models/llm/operator_graph.h"

namespace weir::test::rows_by_hand {

namespace {

const PrefillChunk chunks[] = {{10, 70, 0}, {5, 20, 1}};
const DecodeContext contexts[] = {{100, 0}, {40, 1}, {60, 1}, {7, 2}};

// 15 tokens of prompts, one of which ends; 4 decodes of 3 rows; 2 rows of no request.
BatchShape mixed() {
  BatchShape batch;
  batch.prefill = chunks;
  batch.prefill_tokens = 15;
  batch.decodes = 4, batch.decode_rows = 3;
  batch.decode_context_sum = 207, batch.decode_context_max = 100;
  batch.contexts = contexts;
  batch.sequences = 5;
  batch.padding = 2;
  return batch;
}

std::int64_t rows(Rows kind, const BatchShape& batch, const ChannelRange& channels = {}) {
  return rows_of(kind, channels, batch);
}

}  // namespace

TEST_CASE("rows by hand: of each kind in a batch of everything") {
  BatchShape batch = mixed();
  CHECK(rows(Rows::tokens, batch) == 15 + 12 + 2);
  CHECK(rows(Rows::sequences, batch) == 5 + 4 * 2);
  CHECK(rows(Rows::drafts, batch) == 5);
  CHECK(rows(Rows::prompt_tokens, batch) == 15);
  CHECK(rows(Rows::prompt_contexts, batch) == 15 + 90);
  CHECK(rows(Rows::decodes, batch) == 12);
  CHECK(rows(Rows::step, batch) == 1);
  CHECK(rows(Rows::routed, batch) == 29);
  const BatchShape ranks[] = {batch, batch};
  batch.ranks = ranks;
  batch.routed = 77;
  CHECK(rows(Rows::routed, batch) == 77);
  CHECK(rows(Rows::routed_prompts, batch) == 77);
  CHECK(rows(Rows::routed_decodes, batch) == 0);
  batch.prefill_tokens = 0;
  CHECK(rows(Rows::routed_prompts, batch) == 0);
  CHECK(rows(Rows::routed_decodes, batch) == 77);
}

TEST_CASE("rows by hand: of channels, the first of which counts and the last does not") {
  const BatchShape batch = mixed();
  CHECK(rows(Rows::decodes, batch, {1, 2}) == 2 * 3);
  CHECK(rows(Rows::decodes, batch, {0, 2}) == 3 * 3);
  CHECK(rows(Rows::prompt_tokens, batch, {1, 2}) == 5);
  CHECK(rows(Rows::prompt_contexts, batch, {1, 2}) == 25);
  CHECK(rows(Rows::prompt_contexts, batch, {2, 5}) == 0);
}

TEST_CASE("rows by hand: attention of drafts is of one row a decode, others of all rows") {
  Operator op{.name = "attention", .kernel = Attention{}};
  const BatchShape batch = mixed();
  CHECK(lowered(op, batch).rows == 15 + 12);
  op.rows = Rows::decodes;
  op.channels = {1, 3};
  const KernelWork decodes = lowered(op, batch);
  CHECK(decodes.rows == 9);
  CHECK((decodes.batch.decode_rows == 3 && decodes.batch.prefill.empty()));
  CHECK((decodes.batch.decode_context_sum == 107 && decodes.batch.decode_context_max == 60));
  op.rows = Rows::drafts;
  const KernelWork drafts = lowered(op, batch);
  CHECK(drafts.rows == 3);
  CHECK((drafts.batch.decode_rows == 1 && drafts.batch.decode_context_sum == 107));
  op.rows = Rows::prompt_tokens;
  CHECK(lowered(op, batch).rows == 15);
}

TEST_CASE("rows by hand: copies of neurons have as many rows as they have neurons, in the layer asked for") {
  SideLoads loads(2, {1, 2});
  loads.at(1, 0)[0] = {3, 2, 2};
  loads.at(1, 1)[0] = {8, 5, 9};
  loads.at(1, 1)[1] = {4, 4, 4};
  BatchShape batch = mixed();
  batch.side = &loads;
  Operator op{
      .name = "copy", .kernel = Copy{Copy::Way::out, Bytes(7)}, .begin = 0.25, .end = 0.5, .share = 0.5};
  CHECK(lowered(op, batch).rows == 29);
  op.slot = 1;
  CHECK(lowered(op, batch, 0).rows == 3);
  const KernelWork second = lowered(op, batch, 1);
  CHECK(second.rows == 8);
  REQUIRE(second.side.size() == 2);
  CHECK(second.side[1].read == 4);
  CHECK((second.begin == 0.25 && second.end == 0.5 && second.share == 0.5));
  batch.side = nullptr;
  CHECK(lowered(op, batch, 1).rows == 0);
}

}  // namespace weir::test::rows_by_hand
