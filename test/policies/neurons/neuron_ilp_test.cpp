// The integer program of neuron mapping against brute force, against the other policies and against itself.
#include <catch2/catch.hpp>

#include "policies/placement/neurons/expected_time.h"
#include "policies/placement/neurons/greedy.h"
#include "policies/placement/neurons/integer_program.h"
#include "policies/placement/neurons/neuron_placement.h"
#include "test/policies/make_policy.h"
#include "test/policies/neurons/random_layers.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const NeuronPlacementPolicy> ilp(Json json) {
  json["kind"] = "ilp";
  return policy_of(neuron_placement_policies(), json);
}
const Json exact = {{"dimms", "each"}, {"gap", 0}, {"buckets", 4096}, {"node_limit", 100'000}};

// The least of Equation 1 over all assignments: each neuron has a home and is on the GPU or not. Homes of
// those on the GPU are tried too, as they take room.
Seconds brute_force(const NeuronMachine& machine, const test::Frequencies& frequencies) {
  const std::vector<NeuronLayer> layers = frequencies.views();
  std::vector<LayerSites> sites(layers.size());
  std::vector<std::pair<std::uint8_t*, std::uint8_t*>> neurons;
  std::vector<Bytes> bytes;
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (const NeuronBlock block : neuron_blocks) {
      NeuronSites& of = sites[l][block];
      of.on_gpu.assign(layers[l][block].size(), 0);
      of.dimm.assign(layers[l][block].size(), 0);
      for (std::size_t i = 0; i < of.dimm.size(); ++i) {
        neurons.emplace_back(&of.on_gpu[i], &of.dimm[i]);
        bytes.push_back(machine.costs[block].bytes);
      }
    }
  Seconds least(1e300);
  const auto places = static_cast<std::uint64_t>(2 * machine.dimms);
  std::uint64_t assignments = 1;
  for (std::size_t n = 0; n < neurons.size(); ++n) assignments *= places;
  for (std::uint64_t assignment = 0; assignment < assignments; ++assignment) {
    Bytes gpu;
    std::vector<Bytes> dimms(static_cast<std::size_t>(machine.dimms));
    std::uint64_t left = assignment;
    for (std::size_t n = 0; n < neurons.size(); ++n, left /= places) {
      *neurons[n].first = static_cast<std::uint8_t>(left % 2);
      *neurons[n].second = static_cast<std::uint8_t>(left % places / 2);
      if (left % 2) gpu += bytes[n];
      dimms[left % places / 2] += bytes[n];
    }
    if (gpu <= machine.gpu_room && std::ranges::max(dimms) <= machine.dimm_room)
      least = std::min(least, expected_time(machine, layers, sites));
  }
  return least;
}

}  // namespace

TEST_CASE("neuron ILP: with the DIMMs each by itself it is as good as the best of all assignments",
          "[neurons]") {
  const auto policy = ilp(exact);
  int gpu_shares = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Dice dice(seed);
    test::Frequencies frequencies;  // six neurons or seven
    const auto some = [&](std::int64_t neurons) { return test::random_frequencies(dice, neurons); };
    if (seed % 2)
      frequencies.of_layers = {{some(3), some(4)}};
    else
      frequencies.of_layers = {{some(1), some(2)}, {some(2), some(1)}};
    const NeuronMachine machine = test::random_machine(dice, frequencies, 2);
    const auto layers = frequencies.views();
    const NeuronMapping mapping = policy->place(machine, layers, 0);
    INFO("seed " << seed);
    const Seconds ours = expected_time(machine, layers, mapping.layers),
                  best = brute_force(machine, frequencies);
    REQUIRE(ours.value() == Approx(best.value()).epsilon(1e-6));
    REQUIRE(mapping.gap < 1e-6);
    bool gpu = false, dimm = false;
    for (const LayerSites& layer : mapping.layers)
      for (const std::uint8_t on_gpu : layer.mlp.on_gpu) (on_gpu ? gpu : dimm) = true;
    gpu_shares += gpu && dimm;
  }
  CHECK(gpu_shares > 15);  // the trivial answers are not all there is
}

TEST_CASE("neuron ILP: with one DIMM it is exact as well where all are one to the solver", "[neurons]") {
  const auto policy = ilp({{"gap", 0}, {"buckets", 4096}, {"node_limit", 100'000}});
  for (unsigned seed = 100; seed < 140; ++seed) {
    Dice dice(seed);
    test::Frequencies frequencies;
    for (int l = 0; l < 2; ++l)
      frequencies.of_layers.push_back({test::random_frequencies(dice, 3), test::random_frequencies(dice, 3)});
    const NeuronMachine machine = test::random_machine(dice, frequencies, 1);
    const auto layers = frequencies.views();
    INFO("seed " << seed);
    REQUIRE(expected_time(machine, layers, policy->place(machine, layers, 0).layers).value() ==
            Approx(brute_force(machine, frequencies).value()).epsilon(1e-6));
  }
}

TEST_CASE("neuron ILP: it expects no more time than greedy, nor than random by more than its gap",
          "[neurons]") {
  const auto policy = ilp(Json::object());
  Reading reading("test");
  const Json json = {{"kind", "random"}};
  const auto random = make_from(neuron_placement_policies(), Params(reading, json), {"kind", "which"});
  double over_greedy = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    const test::Frequencies frequencies =
        test::skewed_layers(seed, static_cast<std::size_t>(dice(1, 4)), 4096, 11008);
    const NeuronMachine machine = test::random_machine(dice, frequencies, 8);
    const auto layers = frequencies.views();
    const NeuronMapping mapping = policy->place(machine, layers, 0);
    const auto ours = expected_time(machine, layers, mapping.layers),
               greedy = expected_time(machine, layers, greedy_mapping(machine, layers)),
               any = expected_time(machine, layers, random->place(machine, layers, seed).layers);
    INFO("seed " << seed);
    REQUIRE(ours <= greedy);
    REQUIRE(ours <= 1.001 * any);
    REQUIRE(mapping.gap <= 0.001);
    over_greedy += (greedy / ours - 1) / 40;
  }
  CHECK(over_greedy > 0.1);  // where the GPU is no faster, filling it is a bad idea
}

TEST_CASE("neuron ILP: where the DIMMs are always the slower, it is greedy", "[neurons]") {
  const auto policy = ilp(Json::object());
  for (const double share : {0.0, 0.05, 0.2, 0.4}) {
    NeuronMachine machine = test::llama2_70b_machine();
    machine.sync = Seconds();
    for (const NeuronBlock block : neuron_blocks)
      machine.costs[block].dimm_time =
          10 * machine.costs.mlp.dimm_time * (machine.costs[block].bytes / Bytes(1e4));
    const test::Frequencies frequencies = test::skewed_layers(7, 4, 1024, 3584);
    machine.gpu_room = share * test::bytes_of(machine, frequencies);
    const auto layers = frequencies.views();
    const NeuronMapping mapping = policy->place(machine, layers, 0);
    const Seconds ours = expected_time(machine, layers, mapping.layers),
                  greedy = expected_time(machine, layers, greedy_mapping(machine, layers));
    INFO(share);
    CHECK(ours <= greedy);
    CHECK(ours / greedy > 0.999);
  }
}

TEST_CASE("neuron ILP: LLaMA2-70B is solved to a thousandth, its DIMMs even", "[neurons]") {
  const NeuronMachine machine = test::llama2_70b_machine();
  const test::Frequencies frequencies = test::skewed_layers(70, 80, 8192, 28672);
  const auto layers = frequencies.views();
  const NeuronMapping mapping = ilp(Json::object())->place(machine, layers, 0);
  CHECK(mapping.gap <= 0.001);
  const std::vector<LayerSites> greedy = greedy_mapping(machine, layers);
  const Seconds ours = expected_time(machine, layers, mapping.layers);
  UNSCOPED_INFO("gap " << mapping.gap << ", " << mapping.nodes << " nodes, " << ours.value() << " s, greedy "
                       << expected_time(machine, layers, greedy).value());
  CHECK(ours <= expected_time(machine, layers, greedy));
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (const NeuronBlock block : neuron_blocks)
      CHECK(expected_time(machine, block, layers[l][block], mapping.layers[l][block]).imbalance < 1.01);
}

TEST_CASE("neuron ILP: more room on the GPU, or a faster GPU, is never slower by more than the gap",
          "[neurons]") {
  const auto policy = ilp({{"gap", 0}, {"buckets", 4096}, {"node_limit", 300}});
  for (unsigned seed = 0; seed < 12; ++seed) {
    Dice dice(seed);
    const test::Frequencies frequencies = test::skewed_layers(seed, 2, 12, 20);
    NeuronMachine machine = test::random_machine(dice, frequencies, 1);
    const auto layers = frequencies.views();
    const auto solve = [&] { return policy->place(machine, layers, 0); };
    const Seconds before = expected_time(machine, layers, solve().layers);
    INFO("seed " << seed);
    machine.gpu_room += Bytes(4);
    const NeuronMapping roomier = solve();
    const Seconds then = expected_time(machine, layers, roomier.layers);
    REQUIRE((1 - roomier.gap) * then <= (1 + 1e-6) * before);
    for (const NeuronBlock block : neuron_blocks)
      machine.costs[block].gpu_time = 0.7 * machine.costs[block].gpu_time;
    const NeuronMapping faster = solve();
    REQUIRE((1 - faster.gap) * expected_time(machine, layers, faster.layers) <= (1 + 1e-6) * then);
  }
}

TEST_CASE("neuron ILP: without nodes enough its answer is still a mapping, greedy's at worst", "[neurons]") {
  Dice dice(5);
  const test::Frequencies frequencies = test::random_layers(dice, 2, 6);
  const NeuronMachine machine = test::random_machine(dice, frequencies, 2);
  Json json = exact;
  json["node_limit"] = 1;
  const auto layers = frequencies.views();
  CHECK(expected_time(machine, layers, ilp(json)->place(machine, layers, 0).layers) <=
        expected_time(machine, layers, greedy_mapping(machine, layers)));
}

TEST_CASE("neuron ILP: all wrong keys are told at once", "[neurons]") {
  const Json json = {{"kind", "ilp"}, {"buckets", 0}, {"dimms", "some"}, {"gap", 2}, {"nodes", 1}};
  Reading reading("test");
  make_from(neuron_placement_policies(), Params(reading, json), {"kind", "which"});
  try {
    reading.finish();
    FAIL("nothing was told");
  } catch (const ConfigError& error) {
    std::vector<std::string> pointers;
    for (const Problem& problem : error.problems()) pointers.push_back(problem.pointer);
    std::ranges::sort(pointers);
    CHECK(pointers == std::vector<std::string>{"/buckets", "/dimms", "/gap", "/nodes"});
  }
}

TEST_CASE("integer program: the least whole solution, or none", "[neurons]") {
  IntegerProgram program;  // the most of 5 a + 4 b with 6 a + 4 b <= 24 and a + 2 b <= 6: 21 at (3, 1.5)
  const int a = program.add_whole(-5, 0, IntegerProgram::unbounded),
            b = program.add_whole(-4, 0, IntegerProgram::unbounded);
  program.add_row(std::vector<IntegerProgram::Term>{{a, 6}, {b, 4}}, 0, 24);
  program.add_row(std::vector<IntegerProgram::Term>{{a, 1}, {b, 2}}, 0, 6);
  const auto whole = program.minimised(0, 1000);
  REQUIRE(whole);
  CHECK(whole->cost == Approx(-20));
  CHECK(whole->values == std::vector<double>{4, 0});
  program.add_row(std::vector<IntegerProgram::Term>{{a, 1}, {b, 1}}, 7, 9);
  CHECK_FALSE(program.minimised(0, 1000));
}
