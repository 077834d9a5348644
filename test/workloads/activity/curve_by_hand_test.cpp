// The curve of frequencies, what is drawn of it, and parents, by hand.
#include <catch2/catch.hpp>

#include "workloads/activity/frequency_curve.h"
#include "workloads/activity/generated_source.h"

using namespace weir;

TEST_CASE("frequency curve: a step from its top to its floor, half-way at its knee") {
  const FrequencyCurve curve{0.1, 0.9, 0.2, 2};
  CHECK(curve.at(0.2) == Approx(0.5));
  CHECK(curve.at(0.4) == Approx(0.26));  // 0.1 + 0.8 / (1 + 4)
  CHECK(curve.at(0.1) == Approx(0.74));  // 0.1 + 0.8 / (1 + 1/4)
  const ActivityStatistics even = FrequencyCurve{0.3, 0.3, 0.2, 2}.statistics();
  CHECK(even.density == Approx(0.3));
  CHECK(even.hot_share == Approx(0.2));
  CHECK(even.far_similarity == Approx(0.3));
  // So steep that the hottest tenth is always active, and the rest for a quarter of the tokens.
  const ActivityStatistics step = FrequencyCurve{0.25, 1, 0.1, 1e5}.statistics();
  CHECK(step.density == Approx(0.1 + 0.9 * 0.25));
  CHECK(step.hot_share == Approx((0.1 + 0.1 * 0.25) / 0.325));
  CHECK(step.far_similarity == Approx((0.1 + 0.9 * 0.0625) / 0.325));
}

TEST_CASE("activity: frequencies are the curve's in the middle of each neuron, in steps of 2^-16") {
  // 1 / (1 + 2 x): of two neurons at 1/4 and 3/4, of three at 1/6, 1/2 and 5/6.
  const auto source = generated_source({.layers = 2, .attention = 2, .mlp = 3}, {0, 1, 0.5, 1}, 0);
  const auto in_steps = [&](std::int64_t layer, NeuronBlock block) {
    std::vector<double> steps;
    for (const float f : source->frequency(layer, block)) steps.push_back(65536 * static_cast<double>(f));
    return steps;
  };
  for (const std::int64_t layer : {0, 1}) {
    CHECK(in_steps(layer, NeuronBlock::attention) == std::vector<double>{43691, 26214});   // 2/3 and 2/5
    CHECK(in_steps(layer, NeuronBlock::mlp) == std::vector<double>{49152, 32768, 24576});  // 3/4, 1/2, 3/8
  }
  const auto always = generated_source({.layers = 1, .attention = 1, .mlp = 1}, {1, 1, 0.5, 1}, 0);
  CHECK(always->frequency(0, NeuronBlock::mlp)[0] == Approx(65535. / 65536).epsilon(1e-9));
}

TEST_CASE(
    "activity: parents are a neuron's own rank and its neighbour's, and the last of an odd number looks "
    "back") {
  const auto source = generated_source({.layers = 2, .attention = 1, .mlp = 5}, {0, 1, 0.5, 1}, 0);
  CHECK(source->parents(0, NeuronBlock::mlp).empty());
  const auto mlp = source->parents(1, NeuronBlock::mlp);
  REQUIRE(mlp.size() == 5);
  const int neighbours[] = {1, 0, 3, 2, 3};
  for (int i = 0; i < 5; ++i) {
    CHECK(mlp[static_cast<std::size_t>(i)][0] == i);
    CHECK(mlp[static_cast<std::size_t>(i)][1] == neighbours[i]);
  }
  const auto attention = source->parents(1, NeuronBlock::attention);
  REQUIRE(attention.size() == 1);
  CHECK((attention[0][0] == 0 && attention[0][1] == 0));
}
