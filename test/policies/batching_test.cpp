#include <catch2/catch.hpp>

#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

using namespace weir;

namespace {

SequenceView waits(std::int64_t input, std::int64_t output) {
  return {input, output, input, 0, 0, false, 0, 0};
}

// A running decode in blocks of 4 tokens: `known` tokens, all but the last computed.
SequenceView decodes(std::int64_t input, std::int64_t output, std::int64_t known) {
  return {input, output, known, known - 1, (known - 1 + 3) / 4, false, 0, input};
}

struct State {
  std::vector<SequenceView> running, waiting;
  std::int64_t free_blocks = 100, total_blocks = 100;
  Admission admission = Admission::chunk;
  int pipeline_stages = 1;
  NaiveTimes times = {};
  std::int64_t watermark_blocks = 0;
  Batch next(const std::string& kind, std::int64_t requests, std::int64_t tokens) const {
    Batch batch;
    std::vector<SequenceView> run = running, wait = waiting;
    test::number(run, wait);
    make_policy(kind, requests, tokens)
        ->next({run,
                wait,
                {&free_blocks, 1},
                total_blocks,
                4,
                admission,
                pipeline_stages,
                &times,
                {},
                kind == "asymmetric_pipelining" ? 0 : -1,  // everything in the GPU's own memory
                0,
                0,
                nullptr,
                watermark_blocks},
               batch);
    return batch;
  }
};

std::vector<std::int64_t> tokens_of(const Batch& batch) {
  return test::of_slices(batch, &Slice::tokens);
}

using Tokens = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("chunked_prefill: decodes first, the rest of the budget goes to prompts in turn", "[batching]") {
  const State state{{decodes(8, 9, 10), decodes(8, 9, 12)}, {waits(20, 5), waits(30, 5), waits(1, 5)}};
  const Batch batch = state.next("chunked_prefill", 8, 32);
  CHECK(tokens_of(batch) == Tokens{1, 1, 20, 10});
  CHECK(batch.admitted.size() == 2);
  CHECK(batch.valid.steps == 1);
}

TEST_CASE("chunked_prefill: a prompt of 100 tokens under a budget of 32 comes in 32, 32, 32 and 4",
          "[batching]") {
  NaiveScenario scenario;
  scenario.max_batch_tokens = 32;
  scenario.total_blocks = 100;
  scenario.arrivals = {0}, scenario.inputs = {100}, scenario.outputs = {1};
  NaiveEngine engine(scenario);
  Tokens chunks;
  do
    for (const Slice& slice : engine.last.slices) chunks.push_back(slice.tokens);
  while (engine.step());
  CHECK(chunks == Tokens{32, 32, 32, 4});
}

TEST_CASE("chunked_prefill: a request joins when the blocks of its chunk are free, not one fewer",
          "[batching]") {
  State state{{}, {waits(20, 50)}};
  state.free_blocks = 4;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 1);  // a chunk of 16 tokens: 4 blocks
  state.free_blocks = 3;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 0);
  state.admission = Admission::prompt;  // 20 tokens: 5 blocks
  state.free_blocks = 5;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 1);
  state.free_blocks = 4;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 0);
  state.admission = Admission::sequence;  // 20 + 50 - 1 tokens: 18 blocks
  state.free_blocks = 18;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 1);
  state.free_blocks = 17;
  CHECK(state.next("chunked_prefill", 4, 16).admitted.size() == 0);
}

TEST_CASE("batching: an admission leaves the watermark's blocks free, and not one fewer", "[batching]") {
  for (const char* kind : {"chunked_prefill", "orca", "prefill_first", "static"}) {
    INFO(kind);
    State state{{}, {waits(8, 5), waits(8, 5)}};
    const auto admitted = [&](std::int64_t free_blocks, std::int64_t watermark) {
      state.free_blocks = free_blocks, state.watermark_blocks = watermark;
      return state.next(kind, 4, 32).admitted.size();
    };
    std::int64_t both = 1;  // that the two need together
    while (admitted(both, 0) < 2) ++both;
    CHECK(admitted(both - 1, 0) == 1);
    CHECK(admitted(both + 3, 3) == 2);
    CHECK(admitted(both + 2, 3) == 1);
    CHECK(state.next(kind, 4, 32).valid.wakes_on.free_blocks);
    state.waiting.pop_back();  // the first alone may take them
    CHECK(admitted(both, both) == 1);
  }
  State state{{decodes(8, 9, 13)}, {}};  // and so may one that runs
  state.free_blocks = 1, state.watermark_blocks = 50;
  CHECK(state.next("chunked_prefill", 4, 32).slices.size() == 1);
}

TEST_CASE("batching: sequence admission leaves the running ones what they may still need", "[batching]") {
  // The running one holds 3 blocks and ends with (8 + 21 - 1) / 4 = 7: 4 of the free blocks are its own.
  for (const char* kind : {"chunked_prefill", "orca"}) {
    State state{{decodes(8, 21, 10)}, {waits(6, 3)}};  // 8 tokens at its end: 2 blocks
    state.admission = Admission::sequence;
    state.free_blocks = 6;
    CHECK(state.next(kind, 4, 16).admitted.size() == 1);
    state.free_blocks = 5;
    const Batch batch = state.next(kind, 4, 16);
    CHECK(batch.admitted.size() == 0);
    CHECK(batch.valid.steps > 1);
  }
}

TEST_CASE("chunked_prefill: without a free block the last running one goes, and nobody joins", "[batching]") {
  // The first needs its fourth block; the second has room in its third.
  State state{{decodes(8, 9, 13), decodes(8, 9, 11), decodes(4, 9, 6)}, {waits(4, 4)}};
  state.free_blocks = 0;
  const Batch batch = state.next("chunked_prefill", 8, 16);
  CHECK(batch.preempted == std::vector<std::int32_t>{2});
  CHECK(tokens_of(batch) == Tokens{1, 1});
  CHECK(batch.admitted.size() == 0);
  CHECK(batch.valid.steps == 1);
  state.free_blocks = 1;
  CHECK(state.next("chunked_prefill", 8, 16).preempted.empty());
}

TEST_CASE("chunked_prefill: one that is in flight is not preempted, others wait for it instead",
          "[batching]") {
  State state{{decodes(8, 9, 13), decodes(8, 9, 10), decodes(4, 9, 6)}, {}};
  state.free_blocks = 0;
  state.pipeline_stages = 2;
  const auto fly = [&](std::size_t i) {
    state.running[i].in_flight = true, ++state.running[i].computed_tokens;
  };
  fly(2);
  CHECK(state.next("chunked_prefill", 8, 16).preempted == std::vector<std::int32_t>{1});
  fly(1);
  const Batch waiting = state.next("chunked_prefill", 8, 16);
  CHECK((waiting.preempted.empty() && waiting.slices.empty()));
  state.running.resize(1);  // nobody to wait for: it makes room for those before it
  CHECK(state.next("chunked_prefill", 8, 16).preempted == std::vector<std::int32_t>{0});
}

TEST_CASE("chunked_prefill: one whose KV cache is yet to come in takes all its blocks at once",
          "[batching]") {
  State state{{decodes(8, 9, 12), decodes(8, 9, 13)}, {}};
  state.running[0].blocks = 0;  // 12 tokens: 3 blocks; the other needs its fourth
  state.free_blocks = 4;
  CHECK(tokens_of(state.next("chunked_prefill", 8, 16)) == Tokens{1, 1});
  state.free_blocks = 3;
  CHECK(state.next("chunked_prefill", 8, 16).preempted == std::vector<std::int32_t>{1});
}

TEST_CASE("batching: each batch in flight has its share of the running requests", "[batching]") {
  State state{{}, std::vector<SequenceView>(9, waits(1, 5))};
  state.pipeline_stages = 4;
  for (const auto& entry : batching_policies())
    CHECK(state.next(entry.name, 9, 100).slices.size() == 3);  // a quarter of 9, rounded up
  state.pipeline_stages = 1;
  for (const auto& entry : batching_policies()) CHECK(state.next(entry.name, 9, 100).slices.size() == 9);
}

TEST_CASE("batching: a batch of decodes repeats itself behind a head that is shut out", "[batching]") {
  const State free_seat{{decodes(8, 9, 10)}, {waits(4, 4)}};
  const State full{{decodes(8, 9, 10), decodes(8, 9, 10)}, {waits(4, 4)}};
  const State idle_queue{{decodes(8, 9, 10)}, {}};
  for (const auto& entry : batching_policies()) {
    const bool joins = entry.name != "static";
    CHECK((free_seat.next(entry.name, 2, 32).valid.steps > 1) != joins);
    CHECK(full.next(entry.name, 2, 32).valid.steps > 1);
    CHECK(idle_queue.next(entry.name, 2, 32).valid.steps > 1);
  }
}

TEST_CASE("prefill_first: prompts alone while any fit, decodes otherwise", "[batching]") {
  State state{{decodes(8, 9, 10)}, {waits(20, 5), waits(12, 5), waits(1, 5)}};
  const Batch prompts = state.next("prefill_first", 8, 32);
  CHECK(tokens_of(prompts) == Tokens{20, 12});
  CHECK(prompts.slices[0].request == 1);
  state.free_blocks = 5;  // five blocks for the prompt, but one of a hundred must stay free
  const Batch decode = state.next("prefill_first", 8, 32);
  CHECK(tokens_of(decode) == Tokens{1});
  CHECK(decode.valid.steps > 1);
  state.free_blocks = 6;
  CHECK(tokens_of(state.next("prefill_first", 8, 32)) == Tokens{20});
}

TEST_CASE("prefill_first: one swapped out comes back with the decodes and before any prompt", "[batching]") {
  State state{{decodes(8, 9, 10)}, {decodes(8, 9, 12), waits(4, 4)}};
  state.waiting[0].blocks = 0;  // 12 tokens: 3 blocks
  state.waiting[0].elsewhere = true;
  state.free_blocks = 4;
  const Batch batch = state.next("prefill_first", 8, 32);
  CHECK(batch.admitted.size() == 1);
  CHECK(tokens_of(batch) == Tokens{1, 1});
  state.free_blocks = 3;
  CHECK(state.next("prefill_first", 8, 32).admitted.size() == 0);
}

TEST_CASE("orca: whole prompts beside decodes, one that exceeds the step waits for the next", "[batching]") {
  const State state{{decodes(8, 9, 10)}, {waits(20, 5), waits(12, 5), waits(1, 5)}};
  CHECK(tokens_of(state.next("orca", 8, 32)) == Tokens{1, 20});
  CHECK(tokens_of(state.next("orca", 8, 64)) == Tokens{1, 20, 12, 1});
}

TEST_CASE("static: takes what waits when idle, all prompts first, and nobody joins until the last ends",
          "[batching]") {
  NaiveScenario scenario;
  scenario.kind = "static";
  scenario.max_batch_requests = 3;
  scenario.max_batch_tokens = 10;
  scenario.total_blocks = 100;
  scenario.arrivals = {0, 0, 0, 0};
  scenario.inputs = {6, 6, 4, 5};
  scenario.outputs = {2, 4, 3, 2};
  NaiveEngine engine(scenario);
  std::vector<Tokens> steps;
  while (engine.step())
    if (!engine.last.slices.empty()) steps.push_back(tokens_of(engine.last));
  CHECK(steps == std::vector<Tokens>{{6}, {6, 4}, {1, 1, 1}, {1, 1}, {1}, {5}, {1}});
}

TEST_CASE(
    "batching: a step says whether somebody waits for KV blocks, and not for a seat, the budget or a batch's "
    "end",
    "[batching]") {
  const std::vector<SequenceView> two = {decodes(8, 9, 10), decodes(8, 9, 10)};
  for (const std::string kind : {"chunked_prefill", "orca", "prefill_first"}) {
    INFO(kind);
    const auto lacks = [&](const State& state, std::int64_t requests, std::int64_t tokens) {
      return state.next(kind, requests, tokens).valid.wakes_on.free_blocks;
    };
    CHECK_FALSE(lacks({two, {waits(9, 5)}}, 8, 32));                          // it is admitted
    CHECK_FALSE(lacks({two, {}, 0, 100}, 8, 32));                             // nobody is there
    CHECK(lacks({two, {waits(9, 5)}, 2, 100}, 8, 32));                        // 3 blocks of 4 tokens
    CHECK_FALSE(lacks({two, {waits(9, 5)}, 2, 100}, 2, 32));                  // no seat
    CHECK(lacks({{decodes(8, 9, 9), decodes(8, 9, 9)}, {}, 1, 100}, 8, 32));  // the last one goes
  }
  CHECK_FALSE(State{two, {waits(9, 5)}, 2, 100}
                  .next("chunked_prefill", 2, 2)
                  .valid.wakes_on.free_blocks);  // no budget
  // A static batch: who would have joined it, had there been blocks, lacks them; others wait for its end.
  CHECK(State{{}, {waits(9, 5), waits(9, 5)}, 5, 100}.next("static", 8, 32).valid.wakes_on.free_blocks);
  CHECK_FALSE(State{two, {waits(9, 5)}, 0, 100}.next("static", 8, 32).valid.wakes_on.free_blocks);
}

TEST_CASE("batching: a request that could never run to its end alone is not served", "[batching]") {
  const auto serves = [](const char* kind, std::int64_t input, std::int64_t output, std::int64_t blocks) {
    return make_policy(kind, 4, 32)->serves({{}, input, output}, blocks, 4);
  };
  CHECK(serves("chunked_prefill", 100, 21, 30));        // 120 tokens in the cache
  CHECK_FALSE(serves("chunked_prefill", 100, 22, 30));  // 121
  for (const char* kind : {"static", "orca"}) {
    CHECK(serves(kind, 32, 89, 30));
    CHECK_FALSE(serves(kind, 33, 1, 30));  // a prompt longer than a step
    CHECK_FALSE(serves(kind, 32, 90, 30));
  }
  CHECK(serves("prefill_first", 20, 13, 30));
  CHECK_FALSE(
      serves("prefill_first", 20, 14, 30));  // 33 tokens to recompute in one step, if preempted at its end
  const auto watermark = make_policy("prefill_first", 4, 1000);
  CHECK(watermark->serves({{}, 396, 1}, 100, 4));  // one block of a hundred stays free
  CHECK_FALSE(watermark->serves({{}, 397, 1}, 100, 4));
}

TEST_CASE("batching: every policy has the documented limits, and refuses a budget below its requests",
          "[batching]") {
  for (const auto& entry : batching_policies()) {
    INFO(entry.name);
    CHECK_FALSE(entry.summary.empty());
    const Json json = {{"kind", entry.name}};
    Reading reading("test");
    const auto policy = make_from(batching_policies(), Params(reading, json), {"kind", "the policy"});
    reading.finish();
    CHECK(policy->max_batch_requests() == 256);
    CHECK(policy->max_batch_tokens() == 8192);
    CHECK(make_policy(entry.name, 4, 4)->max_batch_tokens() == 4);
    CHECK_THROWS_AS(make_policy(entry.name, 4, 3), ConfigError);
    CHECK_THROWS_AS(make_policy(entry.name, 0, 3), ConfigError);
  }
}

TEST_CASE("batching: the schema lists every policy with its keys, ranges and defaults", "[batching]") {
  Reading reading = Reading::describe();
  make_from(batching_policies(), Params(reading, Json::object()), {"kind", "the policy"});
  const Json& alternatives = reading.schema["oneOf"];
  REQUIRE(alternatives.size() == batching_policies().size());
  for (const Json& alternative : alternatives) {
    CHECK(alternative["properties"]["max_batch_requests"]["default"] == 256);
    CHECK(alternative["properties"]["max_batch_tokens"]["minimum"] == 1);
  }
}
