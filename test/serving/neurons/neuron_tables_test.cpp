// Laws of the neurons of a replica, token by token, over random activity: each is computed in one place, none
// is lost, no memory overflows and no link carries more than it can.
#include "sim/serving/neurons/neuron_starts.h"

#include <catch2/catch.hpp>

#include "sim/plan/plan.h"
#include "test/policies/dice.h"
#include "test/serving/neurons/hermes_scenario.h"

using namespace weir;

namespace {

BatchShape decodes(std::size_t count) {
  BatchShape shape;
  shape.decodes = shape.sequences = static_cast<std::int64_t>(count);
  shape.decode_context_sum = 200 * shape.decodes;
  shape.decode_context_max = 200;
  return shape;
}

struct Played {
  explicit Played(const Json& scenario) : plan(read_plan(scenario, "test.json")), replica(plan.replicas[0]) {
    tables.emplace(replica.neurons, replica.rank, start_mapping(*replica.neurons).mapping, totals);
  }
  const NeuronPlan& neurons() const { return *replica.neurons; }

  Plan plan;
  const ReplicaPlan& replica;
  NeuronTotals totals;
  std::optional<NeuronTables> tables;
};

Json random_hermes(Dice& dice) {
  static const char* const predictors[] = {"token_and_layer", "token", "layer", "perfect"};
  static const char* const placements[] = {"greedy", "random", "whole_layers"};
  return test::hermes_scenario({{"on_device_gb", 0.5 * static_cast<double>(dice(14, 40))},
                                {"neurons", {{"kind", placements[dice(0, 2)]}}},
                                {"predictor", predictors[dice(0, 3)]},
                                {"adjust", dice(0, 3) > 0},
                                {"remap", dice(0, 3) > 0},
                                {"observed_only", dice(0, 3) == 0},
                                {"followed_layers", dice(2, 4)}},
                               {{"dimms", 2 * dice(1, 4)}, {"dimm_capacity_gib", 64}},
                               {{"density", 0.01 * static_cast<double>(dice(5, 25))},
                                {"drift", 0.1 * static_cast<double>(dice(0, 10))}});
}

std::vector<NeuronTables::Sequence> random_batch(Dice& dice) {
  std::vector<NeuronTables::Sequence> batch;
  for (std::int64_t i = dice(1, 3); i-- > 0;) batch.push_back({static_cast<std::int32_t>(i), dice(1, 40)});
  return batch;
}

// The same sequences beside the tables: which neurons of a block must be read, and how often each is used.
struct Wanted {
  std::vector<int> reads, uses;
};
Wanted wanted(std::vector<SequenceNeurons>& sequences, std::int64_t layer, NeuronBlock block) {
  Wanted all;
  PredictionCounts ignored;
  for (SequenceNeurons& one : sequences) {
    const auto [read, active] = one.expect(layer, block, ignored);
    all.reads.resize(read.size()), all.uses.resize(read.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      all.reads[i] += read[i];
      all.uses[i] += active[i];
      REQUIRE(active[i] <= read[i]);
    }
    one.learn(layer, block);
  }
  return all;
}

void check_places(const Wanted& all, const NeuronSites& sites, const SideLoads& loads, NeuronBlock block,
                  std::size_t layer) {
  const auto device = loads.at(neuron_load(NeuronTask::on_device, block), layer);
  const auto host = loads.at(neuron_load(NeuronTask::in_host, block), layer);
  std::vector<SideLoad> expected(1 + host.size());
  for (std::size_t i = 0; i < all.reads.size(); ++i) {
    REQUIRE(sites.dimm[i] < host.size());
    if (all.reads[i] == 0) continue;
    SideLoad& place = expected[sites.on_gpu[i] ? 0 : 1 + sites.dimm[i]];
    place.read += 1, place.computed += all.uses[i] > 0, place.uses += all.uses[i];
  }
  for (std::size_t place = 0; place < expected.size(); ++place) {
    const SideLoad& found = place == 0 ? device[0] : host[place - 1];
    REQUIRE(found.read == expected[place].read);
    REQUIRE(found.computed == expected[place].computed);
    REQUIRE(found.uses == expected[place].uses);
  }
}

void check_memories(const Played& played) {
  const NeuronPlan& plan = played.neurons();
  std::vector<Bytes> filled(static_cast<std::size_t>(plan.machine.dimms));
  Bytes on_gpu{};
  for (std::int64_t l = 0; l < plan.counts.layers; ++l)
    for (const NeuronBlock block : neuron_blocks) {
      const NeuronSites& sites = played.tables->sites(l)[block];
      for (std::size_t i = 0; i < sites.dimm.size(); ++i) {
        filled[sites.dimm[i]] += plan.machine.costs[block].bytes;
        on_gpu += static_cast<double>(sites.on_gpu[i]) * plan.machine.costs[block].bytes;
      }
    }
  REQUIRE(on_gpu.value() <= plan.machine.gpu_room.value() * (1 + 1e-12));
  for (std::size_t d = 0; d < filled.size(); ++d) {
    REQUIRE(filled[d].value() <= plan.machine.dimm_room.value() * (1 + 1e-12));
    // Neurons on their way there have their place already.
    REQUIRE(played.tables->free()[d].value() >= -1e-3);
    REQUIRE(played.tables->free()[d].value() <= (plan.machine.dimm_room - filled[d]).value() + 1e-3);
  }
}

void check_links(const Played& played, const SideLoads& loads, std::size_t layer, const BatchShape& batch) {
  const NeuronPlan& plan = played.neurons();
  const Seconds projection = played.replica.rank.cost(plan.projection, batch).time;
  Seconds swaps{};
  std::vector<Seconds> links(
      plan.members[static_cast<std::size_t>(neuron_load(NeuronTask::moved, NeuronBlock::mlp))]);
  for (const NeuronBlock block : neuron_blocks) {
    const double swapped = loads.at(neuron_load(NeuronTask::swapped, block), layer)[0].read;
    if (swapped > 0) swaps += plan.swaps[block]->fixed + swapped * plan.swaps[block]->each;
    const auto moved = loads.at(neuron_load(NeuronTask::moved, block), layer);
    for (std::size_t l = 0; l < moved.size(); ++l)
      if (moved[l].read > 0) links[l] += moved[l].read * plan.moves[block]->each;
  }
  REQUIRE(swaps.value() <= projection.value() * (1 + 1e-9));
  for (const Seconds link : links) REQUIRE(link.value() <= projection.value() * (1 + 1e-9));
}

}  // namespace

TEST_CASE("neurons: each is computed in one place, and no memory or link takes more than it can",
          "[neurons]") {
  double swapped = 0, remapped = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Dice dice(seed);
    const Json scenario = random_hermes(dice);
    INFO("seed " << seed << ": " << scenario["serving"]["replicas"][0]["partitioning"].dump());
    Played played(scenario);
    const NeuronPlan& plan = played.neurons();
    const auto batch = random_batch(dice);
    std::vector<SequenceNeurons> beside;
    for (const auto& of : batch) beside.emplace_back(plan, of.request, of.prompt_tokens);
    for (int token = 0; token < 12; ++token) {
      std::vector<LayerSites> before;
      for (std::int64_t l = 0; l < plan.counts.layers; ++l) before.push_back(played.tables->sites(l));
      const SideLoads& loads = *played.tables->next(batch, decodes(batch.size()));
      for (SequenceNeurons& one : beside) one.next();
      for (std::int64_t layer = 0; layer < plan.layers; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        check_links(played, loads, at, decodes(batch.size()));
        // Layers that stand for one another have the same to do; each of those followed is checked once.
        if (layer > 0 && plan.followed(layer) == plan.followed(layer - 1)) continue;
        const std::int64_t followed = plan.followed(layer);
        // Neurons move behind QKV and before the MLP.
        check_places(wanted(beside, followed, NeuronBlock::attention),
                     before[static_cast<std::size_t>(followed)].attention, loads, NeuronBlock::attention, at);
        check_places(wanted(beside, followed, NeuronBlock::mlp), played.tables->sites(followed).mlp, loads,
                     NeuronBlock::mlp, at);
      }
      check_memories(played);
    }
    swapped += played.totals.swapped.value();
    remapped += played.totals.remapped.value();
  }
  CHECK(swapped > 0);
  CHECK(remapped > 0);
}

TEST_CASE("neurons: without activity every neuron is computed once, for every sequence", "[neurons]") {
  Json scenario = test::hermes_scenario({{"on_device_gb", 12}}, {}, {});
  scenario["workload"].erase("activity");
  for (const char* placement : {"whole_layers", "greedy", "ilp"}) {
    scenario["serving"]["replicas"][0]["partitioning"]["neurons"] = {{"kind", placement}};
    Played played(scenario);
    const NeuronPlan& plan = played.neurons();
    CHECK(plan.counts.layers == plan.layers);
    const SideLoads& loads =
        *played.tables->next(std::vector<NeuronTables::Sequence>{{0, 5}, {1, 5}, {2, 5}}, decodes(3));
    for (std::size_t l = 0; l < static_cast<std::size_t>(plan.layers); ++l)
      for (const NeuronBlock block : neuron_blocks) {
        SideLoad sum = loads.at(neuron_load(NeuronTask::on_device, block), l)[0];
        for (const SideLoad& one : loads.at(neuron_load(NeuronTask::in_host, block), l))
          sum.read += one.read, sum.computed += one.computed, sum.uses += one.uses;
        const auto count = static_cast<double>(plan.counts.of(block));
        REQUIRE(sum.read == count);
        REQUIRE(sum.computed == count);
        REQUIRE(sum.uses == 3 * count);
      }
    CHECK(played.totals.predictions.neurons == 0);
  }
}

TEST_CASE("neurons: a perfect predictor finds all, and states that see computed ones alone find fewer",
          "[neurons]") {
  const auto recall = [](const Json& how) {
    Json keys = {{"on_device_gb", 12}, {"followed_layers", 4}, {"neurons", {{"kind", "greedy"}}}};
    keys.update(how);
    Played played(test::hermes_scenario(keys, {}, {{"density", 0.1}}));
    for (int token = 0; token < 48; ++token)
      played.tables->next(std::vector<NeuronTables::Sequence>{{0, 128}}, decodes(1));
    return played.totals.predictions.recall().value();
  };
  CHECK(recall({{"predictor", "perfect"}}) == 1);
  const double usual = recall(Json::object());
  CHECK(usual > 0.75);
  CHECK(recall({{"observed_only", true}}) < usual - 0.05);
}

TEST_CASE("neurons: a request's neurons do not depend on those beside it", "[neurons]") {
  const Json scenario =
      test::hermes_scenario({{"on_device_gb", 12}, {"followed_layers", 2}, {"neurons", {{"kind", "greedy"}}}},
                            {}, {{"density", 0.1}});
  const auto active = [&](const std::vector<NeuronTables::Sequence>& batch, bool in_turn) {
    Played played(scenario);
    for (int token = 0; token < 6; ++token) {
      if (!in_turn) played.tables->next(batch, decodes(batch.size()));
      for (const auto& one : batch)
        if (in_turn) played.tables->next(std::span(&one, 1), decodes(1));
    }
    return played.totals.predictions;
  };
  const std::vector<NeuronTables::Sequence> both = {{3, 20}, {8, 30}};
  const PredictionCounts together = active(both, false), apart = active(both, true);
  CHECK(together.active == apart.active);
  CHECK(together.predicted == apart.predicted);
  CHECK(together.both == apart.both);
}
