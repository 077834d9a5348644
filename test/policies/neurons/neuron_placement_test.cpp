// Laws of offline neuron mapping, over all policies; the ILP has neuron_ilp_test.cpp.
#include <catch2/catch.hpp>
#include <numeric>

#include "policies/placement/neurons/expected_time.h"
#include "policies/placement/neurons/frequency_buckets.h"
#include "policies/placement/neurons/greedy.h"
#include "policies/placement/neurons/home_dimms.h"
#include "policies/placement/neurons/neuron_placement.h"
#include "test/policies/make_policy.h"
#include "test/policies/neurons/random_layers.h"

using namespace weir;

namespace {

bool same(const std::vector<LayerSites>& a, const std::vector<LayerSites>& b) {
  return std::ranges::equal(a, b, [](const LayerSites& one, const LayerSites& other) {
    return std::ranges::all_of(neuron_blocks, [&](NeuronBlock block) {
      return one[block].on_gpu == other[block].on_gpu && one[block].dimm == other[block].dimm;
    });
  });
}

// Every neuron has a home and is on the GPU or not, and no room is exceeded.
void check_rooms(const NeuronMachine& machine, const test::Frequencies& frequencies,
                 const std::vector<LayerSites>& sites) {
  Bytes gpu;
  std::vector<Bytes> dimms(static_cast<std::size_t>(machine.dimms));
  REQUIRE(sites.size() == frequencies.of_layers.size());
  for (std::size_t l = 0; l < sites.size(); ++l)
    for (const NeuronBlock block : neuron_blocks) {
      REQUIRE(sites[l][block].on_gpu.size() == frequencies.of_layers[l][block].size());
      REQUIRE(sites[l][block].dimm.size() == frequencies.of_layers[l][block].size());
      for (const std::uint8_t dimm : sites[l][block].dimm) dimms.at(dimm) += machine.costs[block].bytes;
      for (const std::uint8_t on_gpu : sites[l][block].on_gpu) {
        REQUIRE(on_gpu <= 1);
        if (on_gpu) gpu += machine.costs[block].bytes;
      }
    }
  REQUIRE(gpu <= machine.gpu_room);
  for (const Bytes dimm : dimms) REQUIRE(dimm <= machine.dimm_room);
}

}  // namespace

TEST_CASE("neuron placement: each neuron has one home, rooms hold, and the same is the same to the byte",
          "[neurons]") {
  for (const auto& entry : neuron_placement_policies()) {
    const auto policy = test::make_policy(neuron_placement_policies(), entry.name);
    for (unsigned seed = 0; seed < 25; ++seed) {
      INFO(entry.name << " " << seed);
      Dice dice(seed);
      const test::Frequencies frequencies = test::random_layers(dice, 3, 16);
      const NeuronMachine machine = test::random_machine(dice, frequencies, 6);
      const auto layers = frequencies.views();
      REQUIRE(why_not_placed(machine, layers).empty());
      const NeuronMapping mapping = policy->place(machine, layers, seed);
      check_rooms(machine, frequencies, mapping.layers);
      REQUIRE(same(mapping.layers, policy->place(machine, layers, seed).layers));
    }
  }
}

TEST_CASE("neuron placement: random is another with another seed, and favours no neuron and no DIMM",
          "[neurons]") {
  const auto policy = test::make_policy(neuron_placement_policies(), "random");
  const test::Frequencies frequencies = test::skewed_layers(1, 2, 100, 100);
  NeuronMachine machine = test::llama2_70b_machine();
  machine.costs.mlp.bytes = machine.costs.attention.bytes;
  machine.gpu_room = 100 * machine.costs.mlp.bytes;  // a quarter of all
  std::vector<int> on_gpu(400), homes(8);
  std::vector<LayerSites> before;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto sites = policy->place(machine, frequencies.views(), seed).layers;
    CHECK_FALSE(same(sites, before));
    before = sites;
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t i = 0; i < 100; ++i) {
        on_gpu[200 * l + i] += sites[l].attention.on_gpu[i];
        on_gpu[200 * l + 100 + i] += sites[l].mlp.on_gpu[i];
        ++homes[sites[l].mlp.dimm[i]];
      }
  }
  CHECK(std::accumulate(on_gpu.begin(), on_gpu.end(), 0) == 40'000);
  for (const int count : on_gpu) CHECK(std::abs(count - 100) < 44);     // five deviations of 8.7
  for (const int count : homes) CHECK(std::abs(count - 10'000) < 470);  // five of 94
}

TEST_CASE("neuron placement: greedy leaves no neuron behind that saves more by byte than one on the GPU",
          "[neurons]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const test::Frequencies frequencies = test::random_layers(dice, 3, 30);
    const NeuronMachine machine = test::random_machine(dice, frequencies, 4);
    const auto sites = greedy_mapping(machine, frequencies.views());
    Bytes left = machine.gpu_room;
    PerBlock<double> least_there{1e300, 1e300}, most_elsewhere{-1, -1};
    for (std::size_t l = 0; l < sites.size(); ++l)
      for (const NeuronBlock block : neuron_blocks)
        for (std::size_t i = 0; i < sites[l][block].on_gpu.size(); ++i) {
          const NeuronCost& cost = machine.costs[block];
          const double saved =
              frequencies.of_layers[l][block][i] * cost.dimm_time.value() / cost.bytes.value();
          const bool there = sites[l][block].on_gpu[i];
          if (there) left -= cost.bytes;
          double& bound = (there ? least_there : most_elsewhere)[block];
          bound = there ? std::min(bound, saved) : std::max(bound, saved);
        }
    INFO("seed " << seed);
    for (const NeuronBlock block : neuron_blocks) {
      REQUIRE(least_there[block] >= most_elsewhere[block]);
      if (most_elsewhere[block] >= 0) REQUIRE(left < machine.costs[block].bytes);  // full
    }
    // Between blocks too, until the larger neuron no longer fits.
    const bool attention_larger = machine.costs.attention.bytes > machine.costs.mlp.bytes;
    const NeuronBlock smaller = attention_larger ? NeuronBlock::mlp : NeuronBlock::attention;
    const NeuronBlock larger = attention_larger ? NeuronBlock::attention : NeuronBlock::mlp;
    REQUIRE(least_there[larger] >= most_elsewhere[smaller]);
  }
}

TEST_CASE("neuron placement: homes dealt by frequency are even in neurons, in bytes and nearly in load",
          "[neurons]") {
  const NeuronMachine machine = test::llama2_70b_machine();
  for (unsigned seed = 0; seed < 20; ++seed) {
    Dice dice(seed);
    const auto neurons = static_cast<std::size_t>(dice(1000, 1100));
    const test::Frequencies frequencies = test::skewed_layers(seed, 3, neurons, 2 * neurons + 1);
    HomeDimms homes(machine.dimms);
    std::vector<Bytes> filled(8);
    for (const auto& layer : frequencies.of_layers)
      for (const NeuronBlock block : neuron_blocks) {
        NeuronSites sites;
        for (std::size_t i = 0; i < layer[block].size(); ++i)
          sites.on_gpu.push_back(static_cast<std::uint8_t>(dice(0, 9) == 0));
        homes.deal(machine.costs[block].bytes, hottest_first(layer[block]), sites);
        std::vector<int> counts(8);
        for (const std::uint8_t dimm : sites.dimm)
          ++counts.at(dimm), filled[dimm] += machine.costs[block].bytes;
        CHECK(std::ranges::max(counts) - std::ranges::min(counts) <= 1);
        CHECK(expected_time(machine, block, layer[block], sites).imbalance < 1.03);
        CHECK(std::ranges::max(filled) - std::ranges::min(filled) <= machine.costs.mlp.bytes);
      }
  }
}

TEST_CASE(
    "neuron placement: a block takes the longer of the GPU with two synchronisations and the slowest DIMM",
    "[neurons]") {
  const NeuronCost cost{Bytes(1), Seconds(2), Seconds(10), Seconds(0.5)};
  const NeuronMachine machine{2, Bytes(9), Bytes(9), {cost, cost}, Seconds(0.25)};
  const std::vector<float> frequencies{1, 0.5, 0.25, 0.25};
  const auto time = [&](std::vector<std::uint8_t> on_gpu) {
    return expected_time(machine, NeuronBlock::mlp, frequencies, {std::move(on_gpu), {0, 1, 0, 1}});
  };
  CHECK(time({0, 0, 0, 0}).gpu.value() == 0);  // it is not called
  CHECK(time({0, 0, 0, 0}).dimm.value() == 12.5);
  CHECK(time({0, 0, 0, 0}).imbalance == 1.25);
  CHECK(time({1, 0, 0, 0}).gpu.value() == 2 + 0.5 + 2 * 0.25);
  CHECK(time({1, 0, 0, 0}).dimm.value() == 7.5);
  CHECK(time({1, 1, 1, 1}).total().value() == 4 + 0.5 + 2 * 0.25);
  CHECK(time({1, 1, 1, 1}).imbalance == 1);
  const std::vector<NeuronLayer> layers{{frequencies, frequencies}};
  const NeuronSites left{{1, 0, 0, 0}, {0, 1, 0, 1}}, right{{1, 1, 1, 1}, {0, 1, 0, 1}};
  CHECK(expected_time(machine, layers, std::vector<LayerSites>{{left, right}}).value() == 12.5);  // two terms
}

TEST_CASE("neuron placement: neurons that no room holds are told of, and refused by every policy",
          "[neurons]") {
  const test::Frequencies frequencies = test::skewed_layers(1, 2, 80, 80);
  NeuronMachine machine{4, Bytes(0), Bytes(80), {{Bytes(1), {}, {}}, {Bytes(1), {}, {}}}, {}};
  CHECK(why_not_placed(machine, frequencies.views()) ==
        "4 DIMMs with room for 8e-08 GB each do not hold all neurons, which are 3.2e-07 GB");
  for (const auto& entry : neuron_placement_policies())
    CHECK_THROWS_AS(
        test::make_policy(neuron_placement_policies(), entry.name)->place(machine, frequencies.views(), 1),
        std::invalid_argument);
  machine.dimm_room += Bytes(1);
  CHECK(why_not_placed(machine, frequencies.views()).empty());
  for (const int dimms : {0, 256}) {
    machine.dimms = dimms;
    CHECK(why_not_placed(machine, frequencies.views()) ==
          "neurons need 1 to 255 DIMMs (got " + std::to_string(dimms) + ")");
  }
}

TEST_CASE("neuron placement: buckets hold every neuron in order, and none twice its share of anything",
          "[neurons]") {
  Dice dice(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> frequencies = test::random_frequencies(dice, dice(0, 200));
    if (round % 3 == 0)
      for (float& frequency : frequencies) frequency *= frequency * frequency;  // skewed
    if (round % 10 == 0) std::ranges::fill(frequencies, 0.0F);
    const std::vector<std::uint32_t> order = hottest_first(frequencies);
    const auto wanted = static_cast<std::size_t>(dice(1, 40));
    const auto buckets = frequency_buckets(frequencies, order, wanted);
    const auto neurons = static_cast<double>(frequencies.size()),
               all = std::accumulate(frequencies.begin(), frequencies.end(), 0.0);
    REQUIRE(buckets.size() <= std::min(wanted, frequencies.size()));
    if (wanted >= frequencies.size()) REQUIRE(buckets.size() == frequencies.size());
    std::size_t next = 0;
    double sum = 0;
    for (const FrequencyBucket& bucket : buckets) {
      const auto size = static_cast<double>(bucket.size()), share = 2 / static_cast<double>(wanted);
      REQUIRE(bucket.begin == next);
      REQUIRE(bucket.end > bucket.begin);
      REQUIRE(size <= share * neurons + 1.001);
      REQUIRE(bucket.frequency * size <=
              share * all + static_cast<double>(frequencies[order[bucket.begin]]) + 1e-6);
      REQUIRE(bucket.frequency <= static_cast<double>(frequencies[order[bucket.begin]]) + 1e-6);
      REQUIRE(bucket.frequency >= static_cast<double>(frequencies[order[bucket.end - 1]]) - 1e-6);
      sum += bucket.frequency * size;
      next = bucket.end;
    }
    REQUIRE(next == frequencies.size());
    REQUIRE(sum == Approx(all).margin(1e-9));
  }
}
