// Lowering gives a kernel the rows, prompts and decodes that its operator is for, and no others.
#include <catch2/catch.hpp>
#include <numeric>

#include "models/llm/operator_graph.h"
#include "test/models/llm/decode_shape.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

struct Drawn {
  std::vector<DecodeContext> contexts;
  std::vector<PrefillChunk> chunks;
  BatchShape batch;

  Drawn(Dice& dice, int channels) {
    for (auto n = dice(0, 9); n > 0; --n)
      contexts.push_back({dice(1, 5000), static_cast<int>(dice(0, channels - 1))});
    for (auto n = dice(0, 3); n > 0; --n)
      chunks.push_back({dice(1, 900), dice(0, 5000), static_cast<int>(dice(0, channels - 1))});
    batch = test::decode_shape(contexts);
    batch.prefill = chunks;
    for (const PrefillChunk& chunk : chunks) batch.prefill_tokens += chunk.tokens;
    batch.sequences += dice(0, 3);
  }
};

}  // namespace

TEST_CASE("lowering: an operator's rows are those of the batch that it is for") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const int channels = static_cast<int>(dice(1, 5)), first = static_cast<int>(dice(0, channels));
    const Drawn drawn(dice, channels);
    const BatchShape& batch = drawn.batch;
    Operator op{.name = "gemm", .kernel = Gemm()};
    CHECK(lowered(op, batch).rows == static_cast<double>(batch.prefill_tokens + batch.decodes));
    op.rows = Rows::sequences;
    CHECK(lowered(op, batch).rows == static_cast<double>(batch.sequences));
    op.channels = {first, channels};
    std::int64_t decodes = 0, prompt_tokens = 0;
    for (const DecodeContext& c : drawn.contexts) decodes += c.channel >= first;
    for (const PrefillChunk& c : drawn.chunks) prompt_tokens += c.channel >= first ? c.tokens : 0;
    op.rows = Rows::decodes;
    CHECK(lowered(op, batch).rows == static_cast<double>(decodes));
    op.rows = Rows::prompt_tokens;
    CHECK(lowered(op, batch).rows == static_cast<double>(prompt_tokens));
  }
}

TEST_CASE("lowering: attention has the prompts, and the decodes whose KV caches lie in its channels") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const int channels = static_cast<int>(dice(2, 5)), first = static_cast<int>(dice(0, channels));
    const Drawn drawn(dice, channels);
    Operator op{.name = "attention", .kernel = Attention{.query_heads = 8, .kv_heads = 1, .head_dim = 128}};
    op.channels = {first, channels};
    std::int64_t decodes = 0, tokens = 0, longest = 0;
    for (const DecodeContext& c : drawn.contexts)
      if (c.channel >= first) ++decodes, tokens += c.tokens, longest = std::max(longest, c.tokens);
    const KernelWork both = lowered(op, drawn.batch);
    CHECK(both.batch.prefill.size() == drawn.chunks.size());
    CHECK(both.batch.decodes == decodes);
    CHECK(both.batch.decode_context_sum == tokens);
    CHECK(both.batch.decode_context_max == longest);
    op.rows = Rows::decodes;
    const KernelWork alone = lowered(op, drawn.batch);
    CHECK(alone.batch.prefill.empty());
    CHECK(alone.batch.tokens() == decodes);
    CHECK(alone.batch.decode_context_sum == tokens);
    op.rows = Rows::prompt_tokens;
    const KernelWork prompts = lowered(op, drawn.batch);
    CHECK(prompts.batch.decodes == 0);
    CHECK(prompts.rows == static_cast<double>(drawn.batch.prefill_tokens));
    CHECK(stored_bytes(prompts) <= stored_bytes(both));
  }
}

TEST_CASE("lowering: without contexts all decodes lie in the first channel") {
  BatchShape batch;
  batch.decodes = batch.sequences = 7;
  batch.decode_context_sum = 700;
  Operator op{.name = "decode_attention", .kernel = Attention(), .rows = Rows::decodes, .channels = {0, 1}};
  CHECK(lowered(op, batch).batch.decode_context_sum == 700);
  op.channels = {1, 2};
  CHECK(lowered(op, batch).batch.decodes == 0);
  CHECK(lowered(op, batch).rows == 0);
}
