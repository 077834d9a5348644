// Decodes and prompts of the GPU's own memory beside those of its host's, by hand.
#include <catch2/catch.hpp>

#include "policies/batching/asymmetric_batches.h"
#include "test/policies/adaptive_state.h"
#include "test/policies/batching/moment.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::int16_t in_host = 0, of_gpu = 1;

}  // namespace

TEST_CASE("adaptive chunks: the GPU attends to its own decodes, and its own prompts are stored nowhere else",
          "[adaptive]") {
  // Each half has a decode of 4,000 tokens in the host's memory, 80 for the other half to hide, and 20 of 40
  // tokens in the GPU's own: 0.04 x 800 = 32 of attention. So p tokens of prompts are p + 21 + 32 - 80 too
  // many; of those in the host p / 2 is taken off, which the other half has to store.
  Times times;
  times.row = 1, times.pair = 0, times.stored = 0.5, times.attended = 0.02, times.read = 0.04;
  Moment moment{.free = {100000, 100000}, .seats = 256, .tokens = 4096, .spare_channel = of_gpu};
  moment.times = &times;
  for (int i = 0; i < 2; ++i) moment.running.push_back(one_decode(10, 9000, 4000, 0, in_host));
  for (int i = 0; i < 40; ++i) moment.running.push_back(one_decode(10, 9000, 40, 0, of_gpu));
  const auto prompts = [&](std::int16_t channel) {
    moment.waiting.assign(2, new_prompt(200, 9, 0, channel));
    const Batch batch = moment.decided("adaptive_chunk_interleaving", {{"min_prompt_tokens", 1}});
    REQUIRE(batch.slices.size() == 44);
    CHECK((batch.slices[42].sub_batch == 1 && batch.slices[43].sub_batch == 0));
    return Tokens{batch.slices[42].tokens, batch.slices[43].tokens};
  };
  CHECK(prompts(of_gpu) == Tokens{32, 32});   // 5 over; 16 are 11 short
  CHECK(prompts(in_host) == Tokens{48, 48});  // 3 short; 64 are 5 over
}

TEST_CASE("adaptive chunks: halves of decodes stay as they are for as long as no sum changes its side",
          "[adaptive]") {
  const auto steps = [](const std::vector<std::vector<std::int64_t>>& channels) {
    State state;
    for (std::size_t channel = 0; channel < channels.size(); ++channel)
      for (const std::int64_t tokens : channels[channel])
        state.running.push_back(decode(tokens, static_cast<int>(channel)));
    return state.next().valid.steps;
  };
  CHECK(steps({{10, 4}}) == Validity::unlimited);  // one more a step in either half
  CHECK(steps({{10, 4, 3}}) == 3);                 // 3 ahead, and one less a step
  CHECK(steps({{10, 5, 5}}) == Validity::unlimited);
  CHECK(steps({{11, 5, 5}, {9, 2, 2}}) == 1);
  // 4 ahead and 1 behind, both one less a step: 3 and 2 less a step, for two steps.
  CHECK(steps({{10, 4, 2}, {5, 4, 2}, {7}}) == 2);
  // 7 ahead, then 6, then 2 behind and one more a step: still not ahead after two.
  CHECK(steps({{7}, {5, 4, 2}, {12, 2, 2}, {3}}) == 3);
}

TEST_CASE("asymmetric pipelining: one comes back to the GPU where a twentieth stays free", "[asymmetric]") {
  // The GPU has 40 blocks, so that 2 stay free. The host's decode needs 3.
  Times times;
  Moment moment{.running = {one_decode(10, 9000, 138, 0, of_gpu), one_decode(10, 9000, 12, 0, in_host)},
                .free = {50, 5},
                .tokens = 4096,
                .spare_channel = of_gpu};
  moment.times = &times;
  const Batch back = moment.decided("asymmetric_pipelining");
  REQUIRE(back.moves.size() == 1);
  CHECK((back.moves[0].request == 1 && back.moves[0].to == KvMemory::spare));
  moment.running[0] = one_decode(10, 9000, 142, 0, of_gpu);  // 36 blocks
  moment.free = {50, 4};
  CHECK(moment.decided("asymmetric_pipelining").moves.empty());
}

TEST_CASE("asymmetric pipelining: the last one leaves the GPU for the host, or gives way where that is full",
          "[asymmetric]") {
  Times times;
  Moment moment{.running = {one_decode(8, 900, 13, 0, of_gpu), one_decode(8, 900, 10, 0, of_gpu)},
                .free = {3, 0},
                .spare_channel = of_gpu};
  moment.times = &times;
  const Batch moved = moment.decided("asymmetric_pipelining");
  REQUIRE(moved.moves.size() == 1);
  CHECK((moved.moves[0].request == 1 && moved.moves[0].to == KvMemory::dealt));
  CHECK(moved.preempted.empty());
  CHECK(of_slices(moved, &Slice::request) == Names{0});
  moment.free = {2, 0};  // it holds 3 blocks
  const Batch preempted = moment.decided("asymmetric_pipelining");
  CHECK(preempted.moves.empty());
  CHECK(preempted.preempted == Names{1});
  CHECK(of_slices(preempted, &Slice::request) == Names{0});
}

TEST_CASE("asymmetric batches: a prompt for the host is held back from 128 rows on, decodes among them",
          "[asymmetric]") {
  AsymmetricCandidates candidates;
  candidates.spare_channel = of_gpu;
  candidates.prompts = {{100, 0, of_gpu}, {50, 0, in_host}};
  candidates.own.assign(28, {10, of_gpu});
  CHECK(form_asymmetric_batches(Times(), candidates).prompts == 1);
  candidates.own.pop_back();
  CHECK(form_asymmetric_batches(Times(), candidates).prompts == 2);
}
