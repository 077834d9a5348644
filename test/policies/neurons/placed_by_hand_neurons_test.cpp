// Neurons placed, dealt out and swapped by hand, where blocks and layers are unlike each other.
#include <catch2/catch.hpp>

#include "policies/placement/neurons/expected_time.h"
#include "policies/placement/neurons/frequency_buckets.h"
#include "policies/placement/neurons/greedy.h"
#include "policies/placement/neurons/home_dimms.h"
#include "policies/placement/neurons/neuron_placement.h"
#include "policies/placement/neurons/online/adjustment.h"
#include "test/policies/make_policy.h"

using namespace weir;

namespace {

using Flags = std::vector<std::uint8_t>;
using Shares = std::vector<float>;

}  // namespace

TEST_CASE("neuron placement: whole layers go to the GPU until one does not fit, and none behind it",
          "[neurons]") {
  // 2 bytes a neuron of attention, 3 of the MLP: layers of 10, 25 and 5 bytes.
  const Shares one(1, 0.5F), two(2, 0.5F), five(5, 0.5F);
  const std::vector<NeuronLayer> layers = {{two, two}, {five, five}, {one, one}};
  const auto on_gpu = [&](double room) {
    const NeuronMachine machine{2,
                                Bytes(room),
                                Bytes(100),
                                {{Bytes(2), Seconds(1), Seconds(1)}, {Bytes(3), Seconds(1), Seconds(1)}},
                                {}};
    const auto sites =
        test::make_policy(neuron_placement_policies(), "whole_layers")->place(machine, layers, 1).layers;
    std::vector<int> whole;
    for (const LayerSites& layer : sites) {
      for (const NeuronBlock block : neuron_blocks)
        for (const std::uint8_t flag : layer[block].on_gpu) CHECK(flag == layer.attention.on_gpu[0]);
      whole.push_back(layer.attention.on_gpu[0]);
    }
    return whole;
  };
  using Whole = std::vector<int>;
  CHECK(on_gpu(9.9) == Whole{0, 0, 0});
  CHECK(on_gpu(10) == Whole{1, 0, 0});
  CHECK(on_gpu(20) == Whole{1, 0, 0});  // the last would fit
  CHECK(on_gpu(35) == Whole{1, 1, 0});
  CHECK(on_gpu(40) == Whole{1, 1, 1});
}

TEST_CASE(
    "neuron placement: homes go there and back again, those on the GPU last, and the rest to the emptiest",
    "[neurons]") {
  HomeDimms homes(3);
  NeuronSites sites{{0, 1, 0, 0, 0, 0, 0, 0}, {}};
  const std::vector<std::uint32_t> hottest = {3, 1, 4, 0, 2, 5, 6, 7};
  homes.deal(Bytes(10), hottest, sites);
  // 3, 4, 0 to DIMMs 0, 1, 2; 2, 5, 6 back to 2, 1, 0; then 7 and, from the GPU, 1.
  CHECK(sites.dimm == Flags{2, 1, 2, 0, 1, 1, 0, 0});
  // DIMM 2 has 20 bytes, the others 30.
  NeuronSites next{{0, 0, 0, 0}, {}};
  homes.deal(Bytes(4), std::vector<std::uint32_t>{0, 1, 2, 3}, next);
  CHECK(next.dimm == Flags{2, 0, 1, 2});
}

TEST_CASE("neuron placement: of equals greedy takes the first layer's attention, and fills what room is left",
          "[neurons]") {
  const Shares pair = {0.5F, 0.5F}, single = {0.5F};
  const std::vector<NeuronLayer> alike = {{pair, single}, {pair, single}};
  NeuronMachine machine{
      2, Bytes(4), Bytes(100), {{Bytes(4), Seconds(1), Seconds(2)}, {Bytes(4), Seconds(1), Seconds(2)}}, {}};
  const auto placed = [&](double room) {
    machine.gpu_room = Bytes(room);
    return greedy_mapping(machine, alike);
  };
  CHECK(placed(4)[0].attention.on_gpu == Flags{1, 0});
  CHECK(placed(8)[0].attention.on_gpu == Flags{1, 1});
  CHECK(placed(8)[0].mlp.on_gpu == Flags{0});
  CHECK(placed(12)[0].mlp.on_gpu == Flags{1});
  CHECK(placed(12)[1].attention.on_gpu == Flags{0, 0});
  // Attention's second neuron of 6 bytes no longer fits into 4; the colder one of 4 does.
  const Shares hot = {0.9F, 0.9F}, cold = {0.5F, 0.5F};
  machine.costs = {{Bytes(6), Seconds(1), Seconds(6)}, {Bytes(4), Seconds(1), Seconds(4)}};
  machine.gpu_room = Bytes(10);
  const auto filled = greedy_mapping(machine, std::vector<NeuronLayer>{{hot, cold}});
  CHECK(filled[0].attention.on_gpu == Flags{1, 0});
  CHECK(filled[0].mlp.on_gpu == Flags{1, 0});
}

TEST_CASE("neuron placement: a token takes the sum of its blocks, each at its own costs", "[neurons]") {
  const NeuronMachine machine{
      2,
      Bytes(9),
      Bytes(9),
      {{Bytes(1), Seconds(2), Seconds(10), Seconds(0.5)}, {Bytes(1), Seconds(3), Seconds(20), Seconds(1)}},
      Seconds(0.25)};
  const Shares attention = {1, 0.5F}, mlp = {0.5F, 0.25F};
  const std::vector<NeuronLayer> layers = {{attention, mlp}, {attention, mlp}};
  // 10 of the first DIMM; 5 of the second beside 1.5 + 1 + 0.5 of the GPU; 3 + 0.5 + 0.5 of the GPU; 15 of
  // the second DIMM, which has both.
  const std::vector<LayerSites> sites = {{{{0, 0}, {0, 1}}, {{1, 0}, {0, 1}}},
                                         {{{1, 1}, {0, 1}}, {{0, 0}, {1, 1}}}};
  CHECK(expected_time(machine, NeuronBlock::mlp, mlp, sites[0].mlp).gpu.value() == Approx(3));
  CHECK(expected_time(machine, NeuronBlock::mlp, mlp, sites[0].mlp).dimm.value() == Approx(5));
  CHECK(expected_time(machine, layers, sites).value() == Approx(10 + 5 + 4 + 15));
}

TEST_CASE("neuron placement: DIMMs have room for their share of all neurons and one of the largest",
          "[neurons]") {
  // Two layers of 3 neurons of 2 bytes and 4 of 5: 52 bytes, 13 a DIMM, and 5 more.
  const Shares three(3, 0.5F), four(4, 0.5F);
  const std::vector<NeuronLayer> layers = {{three, four}, {three, four}};
  const auto refused = [&](PerBlock<NeuronCost> costs, double room) {
    return !why_not_placed({4, Bytes(0), Bytes(room), costs, {}}, layers).empty();
  };
  const NeuronCost small{Bytes(2), {}, {}}, large{Bytes(5), {}, {}};
  CHECK_FALSE(refused({small, large}, 18));
  CHECK(refused({small, large}, 17.9));
  // The other way round they are 2 x (15 + 8): 46, 11.5 a DIMM.
  CHECK_FALSE(refused({large, small}, 16.5));
  CHECK(refused({large, small}, 16.4));
}

TEST_CASE("neuron placement: a bucket ends by the mean of its neurons' and its activations' shares",
          "[neurons]") {
  const auto ends = [](const Shares& frequencies) {
    std::vector<std::size_t> found;
    for (const FrequencyBucket& bucket : frequency_buckets(frequencies, hottest_first(frequencies), 2))
      found.push_back(bucket.end);
    return found;
  };
  using Ends = std::vector<std::size_t>;
  CHECK(ends({0.75F, 0.125F, 0.0625F, 0.0625F}) == Ends{1, 4});  // (1/4 + 3/4) / 2 is a half
  CHECK(ends({0.625F, 0.125F, 0.125F, 0.125F}) == Ends{2, 4});   // (1/4 + 5/8) / 2 is less
  const auto buckets =
      frequency_buckets(Shares{0.125F, 0.75F, 0.0625F, 0.0625F}, std::vector<std::uint32_t>{1, 0, 2, 3}, 2);
  CHECK(buckets[0].frequency == Approx(0.75));
  CHECK(buckets[1].frequency == Approx(0.25 / 3));
}

TEST_CASE("neuron swaps: of two that gain as much attention's goes first, and each pays its own bytes",
          "[neurons]") {
  const Flags states = {12, 5}, on_gpu = {0, 1}, hotter = {13, 5};
  const auto both = [&](const Flags& of_mlp, double budget) {
    const auto chosen = swaps({{states, on_gpu, Bytes(3)}, {of_mlp, on_gpu, Bytes(7)}}, Bytes(budget));
    return std::pair(chosen.attention.size(), chosen.mlp.size());
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  CHECK(both(states, 9.9) == Counts{1, 0});
  CHECK(both(states, 10) == Counts{1, 1});
  CHECK(both(hotter, 9.9) == Counts{0, 1});  // one state more
  CHECK(both(hotter, 6.9) == Counts{1, 0});
  CHECK(both(hotter, 10) == Counts{1, 1});
}
