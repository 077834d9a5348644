// Hermes' online predictor against its own sentences (Section IV-C 1) and against a plain restatement.
#include <catch2/catch.hpp>
#include <numeric>

#include "policies/placement/neurons/online/predictor.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

using Marks = std::vector<std::uint8_t>;

std::uint8_t predicted(NeuronPredictor predictor, int state, int active_parents) {
  const Marks states{static_cast<std::uint8_t>(state)}, active{active_parents > 0, active_parents > 1},
      truth{0};
  const std::vector<NeuronParents> parents{{0, 1}};
  Marks out{9};
  predict(predictor, states, {active, parents}, truth, out);
  return out[0];
}

Marks random_marks(Dice& dice, std::size_t neurons, std::int64_t most) {
  Marks marks(neurons);
  for (std::uint8_t& mark : marks) mark = static_cast<std::uint8_t>(dice(0, most));
  return marks;
}

std::uint8_t after(std::uint8_t state, std::uint8_t active) {
  update({&state, 1}, {&active, 1});
  return state;
}

}  // namespace

TEST_CASE("neuron predictor: the truth table of state and active parents is the paper's", "[neurons]") {
  // s1 + 6 s2 > 15, a column a state: without a parent never, with one from 10 on, with both from 4 on.
  const std::string none = "0000000000000000", one = "0000000000111111", both = "0000111111111111";
  for (int state = 0; state < 16; ++state) {
    const auto at = static_cast<std::size_t>(state);
    CHECK(predicted(NeuronPredictor::token_and_layer, state, 0) == none[at] - '0');
    CHECK(predicted(NeuronPredictor::token_and_layer, state, 1) == one[at] - '0');
    CHECK(predicted(NeuronPredictor::token_and_layer, state, 2) == both[at] - '0');
    for (const int parents : {0, 1, 2}) {
      CHECK(predicted(NeuronPredictor::token, state, parents) == (state >= 8));
      CHECK(predicted(NeuronPredictor::layer, state, parents) == (parents >= 1));
    }
  }
}

TEST_CASE("neuron predictor: Figure 7's neurons 3, 6 and 9 are what its rule activates", "[neurons]") {
  CHECK(after(7, 1) == 11);  // "when neuron 6 is activated, the state is updated from 7 to 11"
  CHECK(after(10, 0) == 9);  // "the state of neuron 5 is updated from 10 to 9"
}

TEST_CASE("neuron predictor: states rise by four and fall by one, within four bits", "[neurons]") {
  for (std::uint8_t state = 0; state < 16; ++state) {
    CHECK(after(state, 1) == std::min(state + 4, 15));
    CHECK(after(state, 0) == std::max(state - 1, 0));
  }
}

TEST_CASE("neuron predictor: first states are 15 above 90 %, 0 below 2 % and 14 equal steps between",
          "[neurons]") {
  CHECK(first_state(0.0F) == 0);
  CHECK(first_state(0.0199F) == 0);
  CHECK(first_state(0.02F) == 1);
  CHECK(first_state(0.9F) == 14);
  CHECK(first_state(0.9001F) == 15);
  CHECK(first_state(1.0F) == 15);
  for (int step = 0; step < 14; ++step) {  // boundary pairs
    const double begin = 0.02 + 0.88 * step / 14, width = 0.88 / 14;
    CHECK(first_state(static_cast<float>(begin + 0.001 * width)) == step + 1);
    CHECK(first_state(static_cast<float>(begin + 0.999 * width)) == step + 1);
  }
  for (int per_mille = 1; per_mille <= 1000; ++per_mille)
    REQUIRE(first_state(static_cast<float>(per_mille) / 1000) >=
            first_state(static_cast<float>(per_mille - 1) / 1000));
}

TEST_CASE("neuron predictor: many neurons at once are each neuron by itself, parents given or implied",
          "[neurons]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const auto neurons = static_cast<std::size_t>(dice(1, 200));
    Marks states = random_marks(dice, neurons, 15);
    const Marks active = random_marks(dice, neurons, 1), truth = random_marks(dice, neurons, 1);
    std::vector<NeuronParents> parents(neurons);
    for (auto& [first, second] : parents) {
      first = static_cast<std::uint16_t>(dice(0, static_cast<std::int64_t>(neurons) - 1));
      second = static_cast<std::uint16_t>(dice(0, static_cast<std::int64_t>(neurons) - 1));
    }
    INFO("seed " << seed);
    for (const auto& [name, predictor] : neuron_predictors()) {
      Marks given(neurons, 9), implied(neurons, 9), first(neurons, 9);
      predict(predictor, states, {active, parents}, truth, given);
      predict(predictor, states, {active}, truth, implied);
      predict(predictor, states, {}, truth, first);
      for (std::size_t i = 0; i < neurons; ++i) {
        const bool perfect = predictor == NeuronPredictor::perfect;
        const auto is_active = [&](int parent) { return active[static_cast<std::size_t>(parent)]; };
        const int of_given = is_active(parents[i][0]) + is_active(parents[i][1]),
                  of_implied = active[i] + ((i ^ 1) < neurons ? active[i ^ 1] : 0);
        REQUIRE(given[i] == (perfect ? truth[i] : predicted(predictor, states[i], of_given)));
        REQUIRE(implied[i] == (perfect ? truth[i] : predicted(predictor, states[i], of_implied)));
        REQUIRE(first[i] == (perfect ? truth[i] : states[i] >= 8));  // no parents: by the state
      }
    }
    Marks each = states;
    for (std::size_t i = 0; i < neurons; ++i) each[i] = after(each[i], truth[i]);
    update(states, truth);
    REQUIRE(states == each);
  }
}

TEST_CASE("neuron predictor: of a neuron that is always or never active the state is a closed form",
          "[neurons]") {
  for (int first = 0; first < 16; ++first) {
    auto always = static_cast<std::uint8_t>(first), never = always;
    for (int token = 1; token <= 20; ++token) {
      always = after(always, 1);
      never = after(never, 0);
      CHECK(always == std::min(15, first + 4 * token));
      CHECK(never == std::max(0, first - token));
    }
  }
}

TEST_CASE("neuron predictor: the state table of LLaMA-7B takes 236 KiB, 232 with the paper's 10.5 K",
          "[neurons]") {
  CHECK(state_table_bytes(32 * (4096 + 11008)).value() == 236 * 1024);
  CHECK(state_table_bytes(32 * (4096 + 10 * 1024 + 512)).value() == 232 * 1024);
}
