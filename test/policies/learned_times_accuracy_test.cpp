// How close learned times come to those of batches not seen.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "test/policies/measured_batches.h"

using namespace weir;
using namespace weir::test;

namespace {

// Mean relative errors, in %, over batches that `times` never sees.
PredictionErrors unseen_errors(const LearnedTimes& times, const Truth& truth, unsigned seed) {
  Batches batches(seed);
  double attention = 0, batched = 0, offloaded = 0;
  const int count = 300;
  for (int i = 0; i < count; ++i) {
    const Chunks chunks = batches.chunks();
    attention += std::abs(times.prefill_attention(chunks).value() / truth.attention(chunks) - 1);
    const std::int64_t prompt = batches.prompt_tokens(), decodes = batches.decodes();
    batched += std::abs(times.batched(prompt, decodes).value() / truth.batched(prompt + decodes) - 1);
    const OffloadedWork work = batches.offloaded();
    offloaded += std::abs(times.offloaded(work).value() / truth.offloaded(work) - 1);
  }
  return {100 * attention / count, 100 * batched / count, 100 * offloaded / count};
}

void require_within(const PredictionErrors& errors, double percent) {
  CHECK(errors.prefill_attention.value() < percent);
  CHECK(errors.batched.value() < percent);
  CHECK(errors.offloaded.value() < percent);
}

}  // namespace

TEST_CASE("learned times: a truth that is linear is learned to 1e-6, whatever its numbers", "[learned]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Batches batches(seed);
    const double context = 1e-12 * static_cast<double>(batches.whole(1, 1e6)),
                 decode = 1e-9 * static_cast<double>(batches.whole(1, 1e6)),
                 prompt = 1e-10 * static_cast<double>(batches.whole(1, 1e6)),
                 fixed = 1e-9 * static_cast<double>(batches.whole(1, 1e6));
    const auto truth = [&](const OffloadedWork& w) {
      return fixed + context * static_cast<double>(w.context_sum) + decode * static_cast<double>(w.decodes) +
             prompt * static_cast<double>(w.prompt_tokens);
    };
    // A run may never store a prompt, or hold one batch size, or contexts of one length.
    const bool prompts = seed % 2, sizes = seed % 3, lengths = seed % 5;
    const auto work = [&] {
      OffloadedWork w = batches.offloaded();
      if (!prompts) w.prompt_tokens = 0;
      if (!sizes) w = {64, 64 * batches.whole(100, 10000), w.prompt_tokens};
      if (!lengths) w.context_sum = 4096 * w.decodes;
      return w;
    };
    LearnedTimes times(Training{});
    for (int i = 0; i < 100; ++i) {
      const OffloadedWork w = work();
      times.observe_offloaded(w, Seconds(truth(w)));
    }
    for (int i = 0; i < 20; ++i) {
      const OffloadedWork w = work();
      REQUIRE(times.offloaded(w).value() == Approx(truth(w)).epsilon(1e-6));
    }
  }
}

TEST_CASE("learned times: a GPU and a PIM are predicted within 5 % on batches not seen", "[learned]") {
  for (const double noise : {0., 0.02})
    for (unsigned seed = 0; seed < 4; ++seed) {
      INFO("seed " << seed << ", noise " << noise);
      const Truth truth = gpu_and_pim(1, noise);
      LearnedTimes times({.enough = 1000});
      Batches batches(seed);
      observe(times, truth, batches, 1000);
      require_within(unseen_errors(times, truth, seed + 100), 5);
      require_within(times.held_out_errors(seed), 5);
    }
}

TEST_CASE("learned times: attention of every grid is predicted within 5 %", "[learned]") {
  for (const AttentionGrid grid :
       {AttentionGrid::separate, AttentionGrid::persistent, AttentionGrid::waves}) {
    Truth truth = gpu_and_pim();
    truth.attention = [grid](const Chunks& chunks) { return attention_seconds(grid, chunks); };
    LearnedTimes times({.enough = 1000});
    Batches batches(7);
    observe(times, truth, batches, 1000);
    INFO("grid " << static_cast<int>(grid));
    require_within(unseen_errors(times, truth, 8), 5);
  }
}

TEST_CASE("learned times: what a forest predicts lies between the times it saw", "[learned]") {
  LearnedTimes times({.enough = 50});
  Batches batches(3);
  double least = HUGE_VAL, most = 0;
  for (int i = 0; i < 50; ++i) {
    const std::int64_t rows = batches.decodes();
    const double seconds = batches.measured(roofline_seconds(static_cast<double>(rows)), 0.1);
    least = std::min(least, seconds);
    most = std::max(most, seconds);
    times.observe_batched(0, rows, Seconds(seconds));
  }
  for (const std::int64_t rows : {1, 10, 100, 1000, 10000, 1000000}) {
    CHECK(times.batched(0, rows).value() >= least * (1 - 1e-6));  // leaves are floats
    CHECK(times.batched(0, rows).value() <= most * (1 + 1e-6));
  }
}

TEST_CASE("learned times: predictions follow a GPU that slows down", "[learned]") {
  const Training training{.batches = 400, .enough = 100, .renewal = 200};
  const Truth before = gpu_and_pim(), after = gpu_and_pim(1.5);
  LearnedTimes times(training);
  Batches batches(5);
  observe(times, before, batches, 1000);
  require_within(unseen_errors(times, before, 6), 5);
  CHECK(unseen_errors(times, after, 6).batched.value() > 25);
  observe(times, after, batches, 600);  // all 400 replaced, and a renewal after
  require_within(unseen_errors(times, after, 6), 5);
}
