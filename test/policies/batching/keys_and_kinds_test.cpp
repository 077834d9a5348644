// Batching policies by their keys, times that are learned, and the host's decodes alone, by hand.
#include <catch2/catch.hpp>
#include <map>

#include "test/policies/adaptive_state.h"
#include "test/policies/batching/moment.h"
#include "test/policies/measured_batches.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("batching: two sub-batches, predictors and moves are of the policies that have them",
          "[batching]") {
  const std::map<std::string, std::tuple<bool, Predictor, bool>> others = {
      {"sub_batch_interleaving", {true, Predictor::none, false}},
      {"adaptive_chunk_interleaving", {true, Predictor::exact, false}},
      {"asymmetric_pipelining", {true, Predictor::exact, true}}};
  for (const auto& entry : batching_policies()) {
    INFO(entry.name);
    const auto policy = make_policy(entry.name, 4, 4);
    const auto other = others.find(entry.name);
    CHECK(std::tuple(policy->interleaves(), policy->predictor(), policy->moves_kv_caches()) ==
          (other == others.end() ? std::tuple(false, Predictor::none, false) : other->second));
  }
  CHECK_FALSE(make_policy("sub_batch_interleaving", 4, 4, {{"interleave", "off"}})->interleaves());
  CHECK(make_policy("adaptive_chunk_interleaving", 4, 4, {{"predictor", "learned"}})->predictor() ==
        Predictor::learned);
}

TEST_CASE("adaptive chunks: two halves side by side always, or where they are shorter, and never of one",
          "[adaptive]") {
  Times times;
  Moment moment{.running = {one_decode(10, 90, 20), one_decode(10, 90, 20)}};
  moment.times = &times;
  const auto decided = [&](const Json& keys) {
    return moment.decided("adaptive_chunk_interleaving", keys).interleaving;
  };
  CHECK(decided(Json::object()) == Interleaving::two_if_faster);
  CHECK(decided({{"interleave", "on"}}) == Interleaving::two);
  moment.running.pop_back();
  CHECK(decided({{"interleave", "on"}}) == Interleaving::none);
  // By default each half takes 256 tokens of prompts where there is no bubble to fill.
  times.attended = 0;
  moment.running.clear();
  moment.tokens = 4096, moment.free = {10000};
  moment.waiting = {new_prompt(1000, 5), new_prompt(1000, 5)};
  CHECK(of_slices(moment.decided("adaptive_chunk_interleaving"), &Slice::tokens) == Tokens{256, 256});
}

TEST_CASE("asymmetric pipelining: the host's decodes alone are computed in halves, and share its last blocks",
          "[asymmetric]") {
  Times times;
  Moment moment{.running = {one_decode(8, 900, 13), one_decode(8, 900, 13), one_decode(8, 900, 10)},
                .free = {2, 0},
                .spare_channel = 1};
  moment.times = &times;
  const Batch all = moment.decided("asymmetric_pipelining");
  CHECK(of_slices(all, &Slice::request) == Names{0, 1, 2});
  CHECK(all.interleaving == Interleaving::two);
  CHECK(halves_of(all) == std::vector<int>{1, 0, 0});  // 13 beside 13 + 10
  moment.free = {1, 0};                                // for one of the two whose blocks are full
  CHECK(of_slices(moment.decided("asymmetric_pipelining"), &Slice::request) == Names{0, 2});
  moment.running.pop_back();
  moment.free = {0, 0};  // the last one gives its blocks
  const Batch full = moment.decided("asymmetric_pipelining");
  CHECK(full.preempted == Names{1});
  CHECK(of_slices(full, &Slice::request) == Names{0});
  CHECK(full.interleaving == Interleaving::none);
  moment.running[1].in_flight = true;  // it may end, and is waited for
  const Batch waits = moment.decided("asymmetric_pipelining");
  CHECK((waits.preempted.empty() && waits.slices.empty()));
  CHECK(waits.valid.wakes_on.free_blocks);
}

TEST_CASE("learned times: lines of what is offloaded and of own decodes have each of their terms",
          "[learned]") {
  LearnedTimes times({.enough = 12});
  const auto offloaded = [](std::int64_t tokens, std::int64_t decodes, std::int64_t stored) {
    return OffloadedWork{decodes, tokens, stored};
  };
  // 5 ms, and 3 us a token, 70 us a decode and 11 us a stored one.
  const auto host_ms = [](double tokens, double decodes, double stored) {
    return Seconds(1e-3 * (5 + 0.003 * tokens + 0.07 * decodes + 0.011 * stored));
  };
  // 2 ms, and 4 us a token and 50 us a decode.
  const auto own_ms = [](double tokens, double decodes) {
    return Seconds(1e-3 * (2 + 0.004 * tokens + 0.05 * decodes));
  };
  CHECK_FALSE(times.trained_on_own_decodes());
  CHECK(times.lacking() ==
        "0 of 12 of attention of prompts, 0 of 12 of matrices, 0 of 12 of what is offloaded");
  for (std::int64_t i = 1; i <= 12; ++i) {
    const std::int64_t tokens = 100 * i * i, decodes = 1 + i % 5, stored = 40 * (i % 7);
    times.observe_offloaded(
        offloaded(tokens, decodes, stored),
        host_ms(static_cast<double>(tokens), static_cast<double>(decodes), static_cast<double>(stored)));
    const std::vector<DecodeContext> own(static_cast<std::size_t>(decodes), {tokens, 0});
    times.observe_decode_attention(
        own, own_ms(static_cast<double>(tokens * decodes), static_cast<double>(decodes)));
  }
  CHECK(times.trained_on_own_decodes());
  CHECK(times.lacking() == "0 of 12 of attention of prompts, 0 of 12 of matrices");
  CHECK(times.offloaded(offloaded(7000, 9, 300)).value() == Approx(host_ms(7000, 9, 300).value()));
  const std::vector<DecodeContext> three = {{1000, 0}, {2000, 1}, {4000, 1}};
  CHECK(times.decode_attention(three).value() == Approx(own_ms(7000, 3).value()));
  CHECK(times.decode_attention({}) == Seconds(0));
  times.observe_decode_attention(three, 2. * own_ms(7000, 3));  // half of what it took
  CHECK(times.errors().decode_attention.value() == Approx(50));
}

TEST_CASE("learned times: held-out errors need two batches, of which one is held", "[learned]") {
  LearnedTimes times({.enough = 100});
  times.observe_batched(10, 2, Seconds(1e-3));
  CHECK_FALSE(times.held_out_errors(1).batched);
  times.observe_batched(10, 2, Seconds(1e-3));
  CHECK(times.held_out_errors(1).batched.value() == Approx(0).margin(1e-4));
}
