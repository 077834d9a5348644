// Decodes that verify drafts, in the batches of every policy that gives them room: positions, blocks, turns.
#include <catch2/catch.hpp>

#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

using namespace weir;

namespace {

SequenceView prompt_of(std::int64_t input, std::int64_t output) {
  return {input, output, input, 0, 0, false, 0, input};
}

// In blocks of 4 tokens: `known` tokens, all but the last computed, in so many blocks.
SequenceView decode_of(std::int64_t known, std::int64_t blocks) {
  return {8, 100, known, known - 1, blocks, false, 0, 8};
}

Batch batch_of(const std::string& kind, std::vector<SequenceView> running, std::vector<SequenceView> waiting,
               std::int64_t tokens, std::int64_t free_blocks, std::int64_t drafts,
               Admission admission = Admission::chunk) {
  Batch batch;
  test::number(running, waiting);
  NaiveTimes times;
  make_policy(kind, 4, tokens)
      ->next({.running = running,
              .waiting = waiting,
              .free_blocks = {&free_blocks, 1},
              .total_blocks = 100,
              .block_tokens = 4,
              .admission = admission,
              .pipeline_stages = 1,
              .times = &times,
              .drafts = drafts},
             batch);
  return batch;
}

using Tokens = std::vector<std::int64_t>;

Tokens tokens_of(const Batch& batch) {
  return test::of_slices(batch, &Slice::tokens);
}

const char* const policies_for_drafts[] = {"chunked_prefill", "shortest_first", "longest_prefix_match",
                                           "priority"};

}  // namespace

TEST_CASE("drafts in batches: a decode takes a position for each, and prompts have the rest", "[batching]") {
  for (const std::string kind : policies_for_drafts) {
    INFO(kind);
    const std::vector<SequenceView> running = {decode_of(10, 4), decode_of(10, 4), decode_of(10, 4)};
    CHECK(tokens_of(batch_of(kind, running, {prompt_of(50, 5)}, 20, 50, 0)) == Tokens{1, 1, 1, 17});
    CHECK(tokens_of(batch_of(kind, running, {prompt_of(50, 5)}, 20, 50, 3)) == Tokens{1, 1, 1, 8});
    CHECK(tokens_of(batch_of(kind, running, {prompt_of(50, 5)}, 13, 50, 3)) == Tokens{1, 1, 1, 1});
    CHECK(tokens_of(batch_of(kind, running, {prompt_of(50, 5)}, 12, 50, 3)) == Tokens{1, 1, 1});
  }
}

TEST_CASE("drafts in batches: a decode has room for all of its drafts, or none and waits", "[batching]") {
  for (const std::string kind : policies_for_drafts) {
    INFO(kind);
    const std::vector<SequenceView> two = {decode_of(10, 3), decode_of(10, 3)};
    CHECK(tokens_of(batch_of(kind, two, {}, 8, 50, 3)) == Tokens{1, 1});
    CHECK(tokens_of(batch_of(kind, two, {}, 7, 50, 3)) == Tokens{1});
  }
}

TEST_CASE("drafts in batches: KV room for the drafts is the decode's, or the last one gives its own",
          "[batching]") {
  for (const std::string kind : policies_for_drafts) {
    INFO(kind);
    const std::vector<SequenceView> two = {decode_of(10, 3), decode_of(10, 3)};  // room for 12 tokens each
    CHECK(batch_of(kind, two, {}, 32, 0, 2).preempted.empty());
    const Batch tight = batch_of(kind, two, {}, 32, 0, 3);
    CHECK(tight.preempted == std::vector<std::int32_t>{1});
    CHECK(tokens_of(tight) == Tokens{1});
    CHECK(batch_of(kind, two, {}, 32, 2, 3).preempted.empty());
    CHECK(batch_of(kind, two, {}, 32, 2, 7).preempted.size() == 1);  // 17 tokens: two blocks each
    CHECK(batch_of(kind, two, {}, 32, 4, 7).preempted.empty());
  }
}

TEST_CASE("drafts in batches: a reservation holds the drafts behind the last token", "[batching]") {
  for (const std::int64_t drafts : {0, 1}) {
    INFO(drafts);
    // 9 + 4 - 1 tokens in the end: three blocks without drafts, four with one.
    const std::int64_t blocks = 3 + drafts;
    const auto admits = [&](std::int64_t free_blocks) {
      return !batch_of("orca", {}, {prompt_of(9, 4)}, 32, free_blocks, drafts, Admission::sequence)
                  .admitted.empty();
    };
    CHECK(admits(blocks));
    CHECK_FALSE(admits(blocks - 1));
  }
}
