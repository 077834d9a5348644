// Steps of two sub-batches on a device beside ranksets with unequal loads: layers that go round them against
// layers that do not, and what no order of work can beat.
#include <catch2/catch.hpp>
#include <cmath>

#include "models/llm/parts/spread.h"
#include "models/llm/parts/without_prompts.h"
#include "sim/step/played_step.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/rows.h"
#include "test/models/llm/decode_shape.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr Precision fp16{
    .weights = DataType::fp16, .activations = DataType::fp16, .kv_cache = DataType::fp16};

struct L3 {
  Rank replica = replica_on("a100_sxm_80gb", "nvlink3_switch", "");
  StageGraph rotating, fixed;

  explicit L3(int ranksets = 4, std::int64_t layers = 96) {
    const Json keys = {{"dimm_timing", "peak"}, {"ranks", ranksets}, {"ranksets", ranksets}};
    replica.on = catalog_memory("dimm_pim", keys)->beside(replica.on, 8, Memory::KeptFor::kv_caches);
    replica.kv_memories = {static_cast<int>(replica.on->spec().memories.size()) - 1};
    replica.engine = {};
    replica.partitioning = make_policy(partitioning_policies(), "gpu_pim");
    StageGraph stage = build_stage(catalog_model("gpt3-175b"), fp16, {8, 1, 1}, 0);
    set_layers(stage, layers);
    const StageGraph placed = replica.partitioning->place(std::move(stage), replica.on->spec().units);
    std::vector<int> members;
    for (const Unit& unit : replica.on->spec().units) members.push_back(unit.members);
    rotating = spread_over_members(placed, members, MemberChannels::rotating);
    fixed = spread_over_members(placed, members, MemberChannels::own);
  }
  PlayedStep step(const StageGraph& placed, int chains) const { return {replica, placed, chains}; }

  // Every member's work of a chain and every other unit's, alone: by unit and member.
  std::map<std::pair<int, int>, double> work(const BatchShape& batch) const {
    std::map<std::pair<int, int>, double> sum;
    const auto add = [&](const OperatorGraph& part, std::int64_t layer) {
      for (const auto v : boost::make_iterator_range(boost::vertices(part))) {
        const Operator& op = part[v];
        const int members = replica.on->spec().units[static_cast<std::size_t>(op.unit)].members;
        const int member = op.rotates ? static_cast<int>((op.member + layer) % members) : op.member;
        sum[{op.unit, member}] += replica.cost(op, batch).time.value();
      }
    };
    add(part(rotating, "prologue"), 0);
    for (std::int64_t layer = 0; layer < layers_of(rotating); ++layer) add(part(rotating, "block"), layer);
    add(part(rotating, "epilogue"), 0);
    return sum;
  }
};

struct Halves {
  std::vector<DecodeContext> contexts[2];
  std::vector<PrefillChunk> chunks[2];
  // Decodes anywhere, a few ranksets with more than their share, and now and then a prompt.
  Halves(Dice& dice, int ranksets, bool prompts) {
    const std::int64_t most = dice(2000, 30000), crowded = dice(0, ranksets - 1);
    for (auto& half : contexts)
      for (std::int64_t i = dice(4, 40); i > 0; --i)
        half.push_back({dice(500, most), static_cast<int>(dice(0, 2) ? dice(0, ranksets - 1) : crowded)});
    for (auto& half : chunks)
      for (std::int64_t i = prompts ? dice(0, 2) : 0; i > 0; --i)
        half.push_back({16 * dice(1, 60), dice(0, 500), static_cast<int>(dice(0, ranksets - 1))});
  }
  std::array<BatchShape, 2> shapes() const {
    std::array<BatchShape, 2> all;
    for (const std::size_t half : {0u, 1u}) {
      all[half] = decode_shape(contexts[half]);
      all[half].prefill = chunks[half];
      for (const PrefillChunk& chunk : chunks[half]) all[half].prefill_tokens += chunk.tokens;
    }
    return all;
  }
};

}  // namespace

TEST_CASE("rotating step: never less than its busiest unit's work, nor than either sub-batch alone",
          "[engine]") {
  for (const int ranksets : {1, 2, 4}) {
    const L3 l3(ranksets, ranksets == 4 ? 10 : 8);  // 10 layers do not divide by 4
    PlayedStep both = l3.step(l3.rotating, 2), one = l3.step(l3.rotating, 1);
    Dice dice(static_cast<unsigned>(ranksets));
    for (int round = 0; round < 40; ++round) {
      const Halves halves(dice, ranksets, round % 2 == 0);
      const std::array<BatchShape, 2> shapes = halves.shapes();
      const double time = both.cost(shapes).cost.time.value();
      INFO(ranksets << " ranksets, round " << round);
      std::map<std::pair<int, int>, double> work;
      for (const BatchShape& shape : shapes) {
        for (const auto& [unit, seconds] : l3.work(shape)) work[unit] += seconds;
        CHECK(time >= one.cost({&shape, 1}).cost.time.value() * (1 - 1e-9));
      }
      double all = 0;
      for (const auto& [unit, seconds] : work) {
        CHECK(time >= seconds * (1 - 1e-9));
        all += seconds;
      }
      CHECK(time < all);  // and something overlaps
    }
  }
}

TEST_CASE("rotating step: what one layer leaves uneven the next evens out", "[engine]") {
  const L3 l3(4, 16);
  PlayedStep rotating = l3.step(l3.rotating, 2), fixed = l3.step(l3.fixed, 2);
  Dice dice(9);
  double with = 0, without = 0;
  double worst = 0;
  for (int round = 0; round < 60; ++round) {
    const Halves halves(dice, 4, false);
    const std::array<BatchShape, 2> shapes = halves.shapes();
    const double turning = rotating.cost(shapes).cost.time.value(),
                 staying = fixed.cost(shapes).cost.time.value();
    with += turning, without += staying;
    worst = std::max(worst, turning / staying);
  }
  CAPTURE(with / without, worst);
  CHECK(with < 0.95 * without);
  CHECK(worst < 1.2);  // no order of operators is the best of all steps
}

TEST_CASE("rotating step: alone, a chain takes the same whether its layers rotate or not", "[engine]") {
  // It waits in every layer for the fullest rankset; which of them that is does not matter.
  const L3 l3(4, 10);
  PlayedStep rotating = l3.step(l3.rotating, 1), fixed = l3.step(l3.fixed, 1);
  Dice dice(10);
  for (int round = 0; round < 20; ++round) {
    const Halves halves(dice, 4, false);
    const BatchShape shape = halves.shapes()[0];
    CHECK(rotating.cost({&shape, 1}).cost.time.value() ==
          Approx(fixed.cost({&shape, 1}).cost.time.value()).epsilon(1e-9));
  }
}

TEST_CASE("rotating step: everything is computed once, however layers go round", "[engine]") {
  const L3 l3(4, 10);
  PlayedStep rotating = l3.step(l3.rotating, 2), fixed = l3.step(l3.fixed, 2);
  Dice dice(11);
  for (int round = 0; round < 20; ++round) {
    const Halves halves(dice, 4, true);
    const StepCost a = rotating.cost(halves.shapes()).cost, b = fixed.cost(halves.shapes()).cost;
    CHECK(a.flops.value() == Approx(b.flops.value()));
    CHECK(a.moved[own_memory].value() == Approx(b.moved[own_memory].value()));
    CHECK(a.energy.value() == Approx(b.energy.value()));
    double flops = 0;
    for (const BatchShape& shape : halves.shapes())
      for_each_operator(l3.fixed, [&](const Operator& op, double times) {
        flops += times * l3.replica.cost(op, shape).flops.value();
      });
    CHECK(a.flops.value() == Approx(flops));
  }
}

TEST_CASE("rotating step: a step of decodes alone takes as long without what is for prompts") {
  Dice dice(9);
  const L3 l3;
  PlayedStep all = l3.step(l3.rotating, 2), decodes = l3.step(without_prompts(l3.rotating), 2);
  const auto stores = [](const StageGraph& stage) {
    std::int64_t count = 0;
    for (const auto v : boost::make_iterator_range(boost::vertices(part(stage, "block"))))
      count += part(stage, "block")[v].name == "store";
    return count;
  };
  CHECK(stores(l3.rotating) == 4);  // ranksets
  CHECK(stores(without_prompts(l3.rotating)) == 0);
  for (int round = 0; round < 20; ++round) {
    const Halves halves(dice, 4, false);
    const StepCost with = all.cost(halves.shapes()).cost, without = decodes.cost(halves.shapes()).cost;
    CHECK(without.time.value() == Approx(with.time.value()).epsilon(1e-12));
    CHECK(without.energy.value() == Approx(with.energy.value()).epsilon(1e-12));
  }
}
