// First states of a request's neurons: what the beginning of its prompt activated.
#include "sim/serving/neurons/sequence_neurons.h"

#include <catch2/catch.hpp>
#include <set>

#include "sim/plan/plan.h"
#include "test/serving/neurons/hermes_scenario.h"

using namespace weir;

TEST_CASE("sequence neurons: first states are shares of the 128 tokens looked at, however long the prompt") {
  const Plan plan =
      read_plan(test::hermes_scenario(Json::object(), Json::object(), Json::object()), "test.json");
  const NeuronPlan& neurons = *plan.replicas[0].neurons;
  const SequenceNeurons looked_at(neurons, 3, 128), longer(neurons, 3, 4096), one(neurons, 3, 1);
  for (std::int64_t layer = 0; layer < neurons.counts.layers; ++layer)
    for (const NeuronBlock block : neuron_blocks) {
      const auto first = looked_at.states(layer, block), same = longer.states(layer, block);
      REQUIRE(std::vector<std::uint8_t>(first.begin(), first.end()) ==
              std::vector<std::uint8_t>(same.begin(), same.end()));
      // After one token a neuron was active always or never; after many, more or less often.
      const auto two = one.states(layer, block);
      CHECK(std::set(two.begin(), two.end()) == std::set{first_state(0), first_state(1)});
      CHECK(std::set(first.begin(), first.end()).size() > 2);
    }
}
