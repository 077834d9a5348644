// Seats and blocks by hand, where several terms of one sum are at work: requests that leave, drafts,
// reservations.
#include <catch2/catch.hpp>

#include "test/policies/batching/moment.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("batching: requests that leave hold their seats in this step yet", "[batching]") {
  // 6 seats, of which 2 run and 3 leave: one is free.
  const Moment moment{.running = {one_decode(8, 9, 10), one_decode(8, 9, 10)},
                      .waiting = {new_prompt(1, 5), new_prompt(1, 5), new_prompt(1, 5)},
                      .seats = 6,
                      .leaving = 3};
  for (const char* kind :
       {"chunked_prefill", "orca", "shortest_first", "longest_prefix_match", "sub_batch_interleaving"}) {
    INFO(kind);
    CHECK(moment.decided(kind).admitted == Names{2});
  }
}

TEST_CASE("batching: what is reserved for running ones has room for their drafts", "[batching]") {
  // The running one ends with 8 + 21 - 1 tokens and a draft: 29 in 8 blocks, of which it has 3. The waiting
  // one ends with 6 + 3 - 1 and a draft: 9 in 3 blocks.
  for (const char* kind : {"chunked_prefill", "orca"}) {
    INFO(kind);
    Moment moment{.running = {one_decode(8, 21, 10)},
                  .waiting = {new_prompt(6, 3)},
                  .free = {8},
                  .admission = Admission::sequence,
                  .drafts = 1};
    CHECK(moment.decided(kind).admitted == Names{1});
    moment.free = {7};
    CHECK(moment.decided(kind).admitted.empty());
  }
}

TEST_CASE("batching: one that comes from elsewhere claims its drafts by every rule of admission",
          "[batching]") {
  // 12 tokens are known and a draft comes behind them: 13 in 4 blocks. In the end 8 + 20 - 1 and one: 28
  // in 7.
  SequenceView swapped = one_decode(8, 20, 12);
  swapped.blocks = 0, swapped.elsewhere = true;
  for (const auto& [admission, blocks] :
       {std::pair{Admission::chunk, 4}, {Admission::prompt, 4}, {Admission::sequence, 7}}) {
    INFO(blocks);
    Moment moment{.waiting = {swapped}, .free = {blocks}, .admission = admission, .drafts = 1};
    CHECK(moment.decided("chunked_prefill").admitted == Names{0});
    moment.free = {blocks - 1};
    CHECK(moment.decided("chunked_prefill").admitted.empty());
  }
}

TEST_CASE("batching: policies that compute a preempted request anew in one step serve none beyond a step",
          "[batching]") {
  const auto serves = [](const char* kind, std::int64_t tokens, std::int64_t input, std::int64_t output,
                         std::int64_t blocks) {
    return make_policy(kind, 4, tokens)->serves({{}, input, output}, blocks, 4);
  };
  for (const char* kind : {"sub_batch_interleaving", "asymmetric_pipelining"}) {
    INFO(kind);
    CHECK(serves(kind, 32, 20, 13, 30));
    CHECK_FALSE(serves(kind, 32, 20, 14, 30));
    CHECK(serves(kind, 1000, 390, 11, 100));
    CHECK_FALSE(serves(kind, 1000, 390, 12, 100));  // 401 tokens in 100 blocks
  }
  for (const char* kind :
       {"shortest_first", "priority", "longest_prefix_match", "adaptive_chunk_interleaving"}) {
    INFO(kind);
    CHECK(serves(kind, 32, 100, 21, 30));
    CHECK_FALSE(serves(kind, 32, 100, 22, 30));
  }
}

TEST_CASE("sub-batches: prompts first are steps of their own, and decodes have the others", "[batching]") {
  Moment moment{.running = {one_decode(2, 50, 6), one_decode(2, 50, 6)},
                .waiting = {new_prompt(4, 5), new_prompt(6, 5)},
                .tokens = 12};
  const Json first = {{"prompts", "first"}};
  const auto slices = [&](const Json& keys) {
    return of_slices(moment.decided("sub_batch_interleaving", keys), &Slice::tokens);
  };
  CHECK(slices(first) == Tokens{4, 6});
  CHECK(moment.decided("sub_batch_interleaving", first).interleaving == Interleaving::none);
  CHECK(slices({{"prompts", "beside"}}) == Tokens{1, 1, 4, 6});
  moment.tokens = 9;
  CHECK(slices(first) == Tokens{4});
  moment.free = {0};  // no prompt finds its block
  CHECK(slices(first) == Tokens{1, 1});
  CHECK(moment.decided("sub_batch_interleaving", first).interleaving == Interleaving::two_if_faster);
}

TEST_CASE("sub-batches: where both have as many tokens the first takes the prompt", "[batching]") {
  const Moment moment{.waiting = {new_prompt(5, 9), new_prompt(5, 9), new_prompt(5, 9), new_prompt(5, 9)}};
  CHECK(halves_of(moment.decided("sub_batch_interleaving")) == std::vector<int>{0, 1, 0, 1});
}

TEST_CASE("sub-batches: halves are of a pool of blocks, whichever channels share it", "[batching]") {
  // Channels 0 and 1 share the first pool. Three decodes in each pool: 2 and 1, then 1 and 2.
  Moment moment{.free = {100, 100}, .pools = {0, 0, 1}};
  for (const int channel : {0, 2, 1, 2, 0, 2})
    moment.running.push_back(one_decode(2, 50, 6, 0, static_cast<std::int16_t>(channel)));
  CHECK(halves_of(moment.decided("sub_batch_interleaving")) == std::vector<int>{0, 0, 0, 1, 1, 1});
}

TEST_CASE("sub-batches: one that is fetched first is in neither half", "[batching]") {
  SequenceView fetched = one_decode(2, 50, 6);
  fetched.blocks = 0, fetched.elsewhere = true;
  Moment moment{.running = {one_decode(2, 50, 6), one_decode(2, 50, 6), one_decode(2, 50, 6)},
                .waiting = {fetched, new_prompt(3, 5)}};
  // Two decodes and one; the prompt's tokens go to the one.
  CHECK(halves_of(moment.decided("sub_batch_interleaving")) == std::vector<int>{0, 0, 1, 0, 1});
}

TEST_CASE("batching: orca and static reserve to the end, whatever the rule of admission", "[batching]") {
  // 6 + 30 - 1 tokens: 9 blocks.
  for (const char* kind : {"orca", "static"})
    for (const Admission admission : {Admission::chunk, Admission::prompt, Admission::sequence}) {
      INFO(kind);
      Moment moment{.waiting = {new_prompt(6, 30)}, .free = {9}, .admission = admission};
      CHECK(moment.decided(kind).admitted == Names{0});
      moment.free = {8};
      CHECK(moment.decided(kind).admitted.empty());
    }
}

TEST_CASE("prefill_first: a hundredth of all blocks stays free of those it admits, and decodes take it",
          "[batching]") {
  // 10 of 1,000 blocks stay free; the prompt needs 5.
  Moment moment{.running = {one_decode(8, 90, 13)}, .waiting = {new_prompt(20, 5)}, .free = {15}};
  CHECK(of_slices(moment.decided("prefill_first"), &Slice::tokens) == Tokens{20});
  moment.free = {14};
  CHECK(of_slices(moment.decided("prefill_first"), &Slice::tokens) == Tokens{1});
  moment.free = {1};
  CHECK(moment.decided("prefill_first").preempted.empty());
  const auto policy = make_policy("prefill_first", 4, 5000);
  CHECK(policy->serves({{}, 3950, 11}, 1000, 4));  // 990 blocks
  CHECK_FALSE(policy->serves({{}, 3950, 12}, 1000, 4));
}
