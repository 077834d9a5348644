// Steps whose layers differ: operators with another number of active neurons in each.
#include <catch2/catch.hpp>
#include <cmath>

#include "models/neurons/neurons.h"
#include "test/policies/dice.h"
#include "test/step/played_step.h"

using namespace weir;
using test::replica_on;

namespace {

constexpr std::size_t layers = 5;
enum { attention, mlp, swapped, kinds };

Operator neurons(int which, Neurons kernel) {
  return {.name = "neurons", .kernel = kernel, .slot = which};
}

struct Sparse {
  Rank rank = replica_on("rtx4090", "none", "");
  StageGraph stage;
  SideLoads loads{layers, {1, 1, 1}};
  BatchShape batch;

  Sparse() {
    rank.engine = {};
    OperatorGraph block;
    const auto first = boost::add_vertex(neurons(attention, {.width = 10240, .behind = 1}), block),
               norm = boost::add_vertex({.name = "layernorm", .kernel = Elementwise{Bytes(65536)}}, block),
               last = boost::add_vertex(neurons(mlp, {.width = 8192, .before = 2, .behind = 1}), block);
    boost::add_edge(first, norm, block);
    boost::add_edge(norm, last, block);
    stage.parts.push_back({"block", block, layers});
    batch.decodes = batch.sequences = 1;
    batch.decode_context_sum = batch.decode_context_max = 100;
    batch.side = &loads;
  }

  void draw(Dice& dice) {
    for (std::size_t layer = 0; layer < layers; ++layer)
      for (const int which : {attention, mlp}) {
        const auto read = static_cast<double>(dice(0, 3000));
        loads.at(which, layer)[0] = {read, std::floor(0.9 * read), std::floor(0.9 * read)};
      }
  }

  // Layer by layer, as the device has it.
  Seconds sum() const {
    Seconds time{};
    for (std::size_t layer = 0; layer < layers; ++layer)
      for (std::size_t v = 0; v < 3; ++v)
        time += rank.cost(stage.parts[0].operators[v], batch, static_cast<std::int64_t>(layer)).time;
    return time;
  }
};

}  // namespace

TEST_CASE("unlike layers: a step takes what the neurons of each layer take, whatever the step before had") {
  Sparse model;
  const StepModel step(model.rank, model.stage, false);
  Dice dice(3);
  for (int i = 0; i < 20; ++i) {
    model.draw(dice);
    const StepCost cost = step.step({model.batch});
    CHECK(cost.time.value() == Approx(model.sum().value()).epsilon(1e-12));
    CHECK(cost.busy[0].value() == Approx(cost.time.value()).epsilon(1e-12));
    std::vector<StepRun> runs;
    CHECK(step.decode_run({model.batch}, 10, runs) == 1);
    CHECK(runs.at(0).first.time == cost.time);
  }
}

TEST_CASE("unlike layers: active neurons cost what a matrix as wide as they are many costs") {
  Sparse model;
  for (const double active : {1., 100., 5000.}) {
    model.loads.at(mlp, 2)[0] = {active, active, active};
    const KernelCost cost = model.rank.cost(model.stage.parts[0].operators[2], model.batch, 2);
    const auto dense = [&](std::int64_t in, std::int64_t out) {
      return model.rank.cost({.name = "dense", .kernel = Gemm{.in = in, .out = out}}, model.batch);
    };
    const auto n = static_cast<std::int64_t>(active);
    const KernelCost before = dense(8192, 2 * n), behind = dense(n, 8192);
    CHECK(cost.time.value() == Approx((before.time + behind.time).value()));
    CHECK(cost.energy.value() == Approx((before.energy + behind.energy).value()));
    CHECK(cost.moved[own_memory].value() ==
          Approx((before.moved[own_memory] + behind.moved[own_memory]).value()));
  }
}

TEST_CASE("unlike layers: a layer without active neurons takes nothing for them") {
  Sparse model;
  CHECK(model.rank.cost(model.stage.parts[0].operators[0], model.batch, 1).time == Seconds(0));
}
