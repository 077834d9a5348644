// When a model learns, what it refuses and what it says of its errors. How close it comes:
// learned_times_accuracy_test.cpp.
#include "policies/batching/predict/learned_times.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "test/policies/measured_batches.h"

using namespace weir;
using namespace weir::test;

namespace {

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
