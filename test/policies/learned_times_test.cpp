#include "policies/batching/predict/learned_times.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "models/latency/attention.h"
#include "models/latency/matrix.h"

using namespace weir;

namespace {

using Chunks = std::vector<PrefillChunk>;

// What a device would take for a part of a batch. `noise` is the deviation of a measurement, as a share.
struct Truth {
  std::function<double(const Chunks&)> attention;
  std::function<double(std::int64_t rows)> batched;
  std::function<double(const OffloadedWork&)> offloaded;
  double noise = 0;
};

// An A100 as data sheets have it, FlashAttention's tiles and launches in it; GEMMs of 4096 x 16384, all of 64
// layers.
constexpr double layers = 64;
const Roof a100{FlopsPerSecond(312e12), BytesPerSecond(2039e9), 108};

double attention_seconds(AttentionGrid grid, const Chunks& chunks) {
  AttentionEfficiency efficiency;
  efficiency.grid = grid;
  efficiency.prefill.launch = Seconds(5e-6);
  BatchShape batch;
  batch.prefill = chunks;
  const AttentionShape shape{.query_heads = 36, .kv_heads = 36, .head_dim = 128};
  return layers * attention_cost(efficiency, a100, Bytes(40e6), shape, batch).time.value();
}

double roofline_seconds(double rows) {
  const double weights = 4096. * 16384;
  return layers * std::max((2 * weights + 2 * rows * (4096 + 16384)) / a100.bandwidth.value(),
                           2 * weights * rows / a100.peak.value());
}

Truth gpu_and_pim(double slower = 1, double noise = 0) {
  return {[slower](const Chunks& c) { return slower * attention_seconds(AttentionGrid::separate, c); },
          [slower](std::int64_t rows) { return slower * roofline_seconds(static_cast<double>(rows)); },
          [slower](const OffloadedWork& w) {
            return slower *
                   (2e-4 + 3e-9 * static_cast<double>(w.context_sum) + 1e-6 * static_cast<double>(w.decodes) +
                    2e-7 * static_cast<double>(w.prompt_tokens));
          },
          noise};
}

class Batches {
 public:
  explicit Batches(unsigned seed) : random_(seed) {}

  std::int64_t whole(double low, double high) {  // log-uniform
    return static_cast<std::int64_t>(
        std::round(low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random_))));
  }
  // Some whole prompts and one that is cut, part of it done, as the scheduler makes them.
  Chunks chunks() {
    Chunks made;
    for (std::int64_t i = whole(1, 8); i > 1; --i) made.push_back({whole(16, 2048), 0});
    made.push_back({16 * whole(1, 128), whole(1, 8192) - 1});
    return made;
  }
  std::int64_t prompt_tokens() { return whole(1, 8192) - 1; }
  std::int64_t decodes() { return whole(1, 1024); }
  OffloadedWork offloaded() {
    const std::int64_t decodes = this->decodes();
    return {decodes, decodes * whole(100, 10000), prompt_tokens()};
  }
  double measured(double seconds, double noise) {
    return seconds * (1 + noise * std::normal_distribution<double>()(random_));
  }

 private:
  std::mt19937_64 random_;
};

void observe(LearnedTimes& times, const Truth& truth, Batches& batches, int count) {
  for (int i = 0; i < count; ++i) {
    const Chunks chunks = batches.chunks();
    times.observe_prefill_attention(chunks, Seconds(batches.measured(truth.attention(chunks), truth.noise)));
    const std::int64_t prompt = batches.prompt_tokens(), decodes = batches.decodes();
    times.observe_batched(prompt, decodes,
                          Seconds(batches.measured(truth.batched(prompt + decodes), truth.noise)));
    const OffloadedWork work = batches.offloaded();
    times.observe_offloaded(work, Seconds(batches.measured(truth.offloaded(work), truth.noise)));
  }
}

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

std::vector<double> predictions(const LearnedTimes& times, unsigned seed) {
  Batches batches(seed);
  std::vector<double> seconds;
  for (int i = 0; i < 100; ++i) {
    seconds.push_back(times.prefill_attention(batches.chunks()).value());
    seconds.push_back(times.batched(batches.prompt_tokens(), batches.decodes()).value());
    seconds.push_back(times.offloaded(batches.offloaded()).value());
  }
  return seconds;
}

void require_within(const PredictionErrors& errors, double percent) {
  CHECK(errors.prefill_attention.value() < percent);
  CHECK(errors.batched.value() < percent);
  CHECK(errors.offloaded.value() < percent);
}

}  // namespace

TEST_CASE("learned times: a model that has not seen enough says so and does not guess", "[learned]") {
  LearnedTimes times({.enough = 20});
  Batches batches(1);
  observe(times, gpu_and_pim(), batches, 19);
  CHECK_FALSE(times.trained());
  CHECK_THROWS_AS(times.prefill_attention(batches.chunks()), std::logic_error);
  CHECK_THROWS_AS(times.batched(1, 0), std::logic_error);
  CHECK_THROWS_AS(times.offloaded({1, 1, 0}), std::logic_error);
  CHECK_FALSE(times.errors().batched.has_value());
  observe(times, gpu_and_pim(), batches, 1);
  CHECK(times.trained());
  CHECK_NOTHROW(times.prefill_attention(batches.chunks()));
  CHECK_FALSE(times.errors().prefill_attention.has_value());  // trained on all it saw, and yet to predict
}

TEST_CASE("learned times: one operation without batches leaves the whole untrained", "[learned]") {
  LearnedTimes times({.enough = 2});
  for (int i = 0; i < 10; ++i) {
    times.observe_batched(0, 1 + i, Seconds(1e-3));
    times.observe_offloaded({1, 100 + i, 0}, Seconds(1e-3));
  }
  CHECK_FALSE(times.trained());
  CHECK(times.batched(0, 3).value() == Approx(1e-3));
}

TEST_CASE("learned times: nothing to do takes no time and is no sample", "[learned]") {
  LearnedTimes times({.enough = 1});
  times.observe_prefill_attention({}, Seconds(0));
  times.observe_batched(0, 0, Seconds(0));
  times.observe_offloaded({}, Seconds(0));
  CHECK_FALSE(times.trained());
  CHECK(times.prefill_attention({}) == Seconds(0));
  CHECK(times.batched(0, 0) == Seconds(0));
  CHECK(times.offloaded({}) == Seconds(0));
  CHECK_THROWS_AS(times.batched(0, 1), std::logic_error);
}

TEST_CASE("learned times: what cannot be a measurement or a training is refused", "[learned]") {
  LearnedTimes times(Training{});
  for (const double seconds : {0., -1., std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS(times.observe_batched(1, 1, Seconds(seconds)), std::invalid_argument);
    CHECK_THROWS_AS(times.observe_offloaded({1, 1, 0}, Seconds(seconds)), std::invalid_argument);
    CHECK_THROWS_AS(times.observe_prefill_attention(Chunks{{1, 0}}, Seconds(seconds)), std::invalid_argument);
  }
  CHECK_THROWS_AS(LearnedTimes({.batches = 0}), std::invalid_argument);
  CHECK_THROWS_AS(LearnedTimes({.enough = 0}), std::invalid_argument);
  CHECK_THROWS_AS(LearnedTimes({.renewal = 0}), std::invalid_argument);
}

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

TEST_CASE("learned times: between trainings a model stays as it is", "[learned]") {
  LearnedTimes times({.batches = 1000, .enough = 50, .renewal = 150});
  Batches batches(9);
  std::vector<int> trained;
  std::vector<double> last;
  for (int seen = 1; seen <= 700; ++seen) {
    observe(times, gpu_and_pim(1, 0.05), batches, 1);
    if (!times.trained()) continue;
    std::vector<double> now = predictions(times, 10);
    if (now != last) trained.push_back(seen);
    last = std::move(now);
  }
  CHECK(trained == std::vector<int>{50, 100, 200, 350, 500, 650});  // doubled, then every 150
}

TEST_CASE("learned times: an error is that of a prediction made before the batch was seen", "[learned]") {
  // One more of the same is predicted exactly; one that took twice as long is off by half, and no training
  // after it can make that good.
  LearnedTimes times({.enough = 10});
  for (int i = 0; i < 10; ++i) times.observe_batched(0, 64, Seconds(1e-3));
  times.observe_batched(0, 64, Seconds(1e-3));
  CHECK(times.errors().batched.value() == Approx(0).margin(1e-4));
  times.observe_batched(0, 64, Seconds(2e-3));
  CHECK(times.errors().batched.value() == Approx(25).epsilon(1e-4));
  CHECK_FALSE(times.errors().offloaded.has_value());

  // The independent oracle: ask first, observe then, and add up.
  LearnedTimes asked({.batches = 60, .enough = 20, .renewal = 30});
  Batches batches(11);
  const Truth truth = gpu_and_pim(1, 0.1);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 200; ++i) {
    const Chunks chunks = batches.chunks();
    const double seconds = batches.measured(truth.attention(chunks), truth.noise);
    if (i >= 20) {
      sum += std::abs(asked.prefill_attention(chunks).value() - seconds) / seconds;
      ++count;
    }
    asked.observe_prefill_attention(chunks, Seconds(seconds));
  }
  CHECK(asked.errors().prefill_attention.value() == Approx(100 * sum / count));
}

TEST_CASE("learned times: held-out errors are of the batches held, and of noise what noise gives",
          "[learned]") {
  const LearnedTimes none(Training{});
  CHECK_FALSE(none.held_out_errors(1).batched.has_value());
  // Twice as long or half, by a coin: no model can be near both.
  LearnedTimes coin({.batches = 200});
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) coin.observe_batched(0, 64, Seconds(random() % 2 ? 2e-3 : 5e-4));
  CHECK(coin.held_out_errors(1).batched.value() > 40);
  // Another deal of the same batches, another error; both of the same truth.
  LearnedTimes times(Training{});
  Batches batches(12);
  observe(times, gpu_and_pim(1, 0.02), batches, 1000);
  const PredictionErrors one = times.held_out_errors(1), other = times.held_out_errors(2);
  CHECK(one.prefill_attention.value() != other.prefill_attention.value());
  CHECK(one.prefill_attention.value() == Approx(other.prefill_attention.value()).epsilon(0.3));
}

TEST_CASE("learned times: the same batches give the same predictions to the last bit", "[learned]") {
  const auto learned = [] {
    auto times = std::make_unique<LearnedTimes>(Training{.batches = 150, .enough = 100, .renewal = 70});
    Batches batches(13);
    observe(*times, gpu_and_pim(1, 0.02), batches, 400);
    return times;
  };
  const auto one = learned(), two = learned();
  CHECK(predictions(*one, 14) == predictions(*two, 14));
  CHECK(one->errors().prefill_attention == two->errors().prefill_attention);
  CHECK(one->errors().batched == two->errors().batched);
  CHECK(one->errors().offloaded == two->errors().offloaded);
  CHECK(one->held_out_errors(3).batched == two->held_out_errors(3).batched);
}
