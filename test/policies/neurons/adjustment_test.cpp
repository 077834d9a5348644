// Laws of swaps between GPU and DIMMs, and the figure that the paper has of one.
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "policies/placement/neurons/online/adjustment.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

struct OwnedBlock {
  std::vector<std::uint8_t> states, on_gpu;
  Bytes neuron;
  AdjustableBlock view() const { return {states, on_gpu, neuron}; }
  int sum_on_gpu() const { return std::inner_product(states.begin(), states.end(), on_gpu.begin(), 0); }
  // The state of the hottest neuron that should come in, of the coldest that should go; -1 and 16 if none.
  int hottest_off() const {
    int state = -1;
    for (std::size_t i = 0; i < states.size(); ++i)
      if (!on_gpu[i] && states[i] > 10) state = std::max<int>(state, states[i]);
    return state;
  }
  int coldest_on() const {
    int state = 16;
    for (std::size_t i = 0; i < states.size(); ++i)
      if (on_gpu[i] && states[i] <= 10) state = std::min<int>(state, states[i]);
    return state;
  }
  bool has_swap() const { return hottest_off() > 10 && coldest_on() <= 10; }
};

OwnedBlock random_block(Dice& dice) {
  OwnedBlock block{{}, {}, Bytes(static_cast<double>(dice(1, 9)))};
  for (auto left = dice(0, 60), share = dice(0, 10); left > 0; --left) {
    block.states.push_back(static_cast<std::uint8_t>(dice(0, 15)));
    block.on_gpu.push_back(dice(0, 9) < share);
  }
  return block;
}

}  // namespace

TEST_CASE("neuron swaps: hottest for coldest within the budget, and nothing that gains nothing",
          "[neurons]") {
  std::size_t all_swaps = 0, stopped_by_budget = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Dice dice(seed);
    PerBlock<OwnedBlock> layer{random_block(dice), random_block(dice)};
    const Bytes budget(static_cast<double>(dice(0, 80)));
    const auto chosen = swaps({layer.attention.view(), layer.mlp.view()}, budget);
    Bytes moved;
    INFO("seed " << seed);
    for (const NeuronBlock which : neuron_blocks) {
      OwnedBlock& block = layer[which];
      const auto on_gpu = std::accumulate(block.on_gpu.begin(), block.on_gpu.end(), 0);
      std::set<std::uint32_t> touched;
      for (const NeuronSwap& swap : chosen[which]) {
        REQUIRE(touched.insert(swap.in).second);
        REQUIRE(touched.insert(swap.out).second);
        REQUIRE(block.states[swap.in] == block.hottest_off());  // of those not swapped yet
        REQUIRE(block.states[swap.out] == block.coldest_on());
        REQUIRE((!block.on_gpu[swap.in] && block.on_gpu[swap.out]));
        const int before = block.sum_on_gpu();
        std::swap(block.on_gpu[swap.in], block.on_gpu[swap.out]);
        REQUIRE(block.sum_on_gpu() > before);
        moved += block.neuron;
      }
      REQUIRE(std::accumulate(block.on_gpu.begin(), block.on_gpu.end(), 0) == on_gpu);  // no more room taken
      all_swaps += chosen[which].size();
    }
    REQUIRE(moved <= budget);
    for (const NeuronBlock which : neuron_blocks) {
      if (layer[which].has_swap()) REQUIRE(moved + layer[which].neuron > budget);  // it took what it could
      stopped_by_budget += layer[which].has_swap();
    }
  }
  CHECK(all_swaps > 1000);
  CHECK(stopped_by_budget > 100);
}

TEST_CASE("neuron swaps: of two blocks the swaps that gain more states come first", "[neurons]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    PerBlock<OwnedBlock> layer{random_block(dice), random_block(dice)};
    layer.mlp.neuron = layer.attention.neuron = Bytes(1);
    const auto few =
        swaps({layer.attention.view(), layer.mlp.view()}, Bytes(static_cast<double>(dice(0, 9))));
    const auto all = swaps({layer.attention.view(), layer.mlp.view()}, Bytes(1000));
    const auto gain = [&](NeuronBlock block, std::size_t k) {
      const NeuronSwap& swap = all[block][k];
      return layer[block].states[swap.in] - layer[block].states[swap.out];
    };
    for (const NeuronBlock block : neuron_blocks) {
      REQUIRE(few[block].size() <= all[block].size());
      const NeuronBlock other = block == NeuronBlock::mlp ? NeuronBlock::attention : NeuronBlock::mlp;
      for (std::size_t k = 0; k < few[block].size(); ++k) {
        REQUIRE((few[block][k].in == all[block][k].in && few[block][k].out == all[block][k].out));
        if (few[other].size() < all[other].size()) REQUIRE(gain(block, k) >= gain(other, few[other].size()));
      }
    }
  }
}

TEST_CASE("neuron swaps: a neuron is hot from 11 on, not from 10, and equals of it are taken by index",
          "[neurons]") {
  OwnedBlock block{{10, 11, 11, 10, 9, 11}, {0, 0, 0, 1, 1, 1}, Bytes(4)};
  const OwnedBlock none{{}, {}, Bytes(4)};
  const auto at = [&](double budget) { return swaps({none.view(), block.view()}, Bytes(budget)).mlp; };
  CHECK(at(3.9).empty());
  REQUIRE(at(4).size() == 1);
  CHECK(at(4)[0].in == 1);
  CHECK(at(4)[0].out == 4);
  REQUIRE(at(100).size() == 2);
  CHECK(at(100)[1].in == 2);
  CHECK(at(100)[1].out == 3);
  block.states = {10, 10, 10, 10, 9, 11};
  CHECK(at(100).empty());
}
