// A device's power limit over runs of steps: as step by step, and faster only by what it draws.
#include "sim/step/cost/power_limit.h"

#include <catch2/catch.hpp>
#include <random>

#include "sim/studies/validation/kernels.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

StepCost random_cost(std::mt19937_64& random, double most_watts) {
  const auto share = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  StepCost cost;
  cost.compute_bound = Seconds(0.01 * share());
  cost.memory_bound = Seconds(0.01 * share() + 1e-3);
  cost.time = cost.compute_bound + cost.memory_bound;
  cost.energy = Watts(most_watts * share()) * cost.time;
  cost.clocked = share() * cost.energy;
  cost.busy[0] = cost.time;
  return cost;
}

}  // namespace

TEST_CASE("power limit: a run of steps is cut where its clocks change, and is each step by itself") {
  std::mt19937_64 random(7);
  const PowerLimit limit(catalog_device("h100_sxm")->spec());
  int cuts = 0, limited = 0;
  for (int i = 0; i < 300; ++i) {
    const StepRun run{random_cost(random, 1100), 0.01 * random_cost(random, 2000), 200};
    std::int64_t step = 0;
    for (StepRun rest = run; rest.steps > 0;) {
      const StepRun piece = limit.kept(rest);
      REQUIRE((piece.steps >= 1 && piece.steps <= rest.steps));
      for (std::int64_t k = 0; k < piece.steps; ++k, ++step) {
        StepCost full = run.first, of_piece = piece.first;
        full += static_cast<double>(step) * run.slope;
        of_piece += static_cast<double>(k) * piece.slope;
        const StepCost alone = limit.kept(full);
        CHECK(of_piece.time.value() == Approx(alone.time.value()).epsilon(1e-9));
        CHECK(of_piece.energy.value() == Approx(alone.energy.value()).epsilon(1e-9));
        CHECK(of_piece.busy[0].value() == Approx(alone.busy[0].value()).epsilon(1e-9));
        CHECK((alone.compute_bound + alone.memory_bound).value() == Approx(alone.time.value()));
        limited += limit.level(full) > 0;
      }
      rest.first += static_cast<double>(piece.steps) * rest.slope;
      rest.steps -= piece.steps;
      cuts += rest.steps > 0;
    }
    CHECK(step == 200);
  }
  CHECK((cuts > 100 && limited > 1000));
}

TEST_CASE("power limit: less of it makes steps of prompts slower, and steps of decodes hardly", "[engine]") {
  const auto step = [](double watts, bool prompt) {
    Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
    rank.on = catalog_device("h100_sxm", {{"tdp_w", watts}});
    const StageGraph placed = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {}, 0));
    BatchShape batch;
    const PrefillChunk chunk{4096, 0, -1};
    if (prompt) {
      batch.prefill = {&chunk, 1};
      batch.prefill_tokens = 4096;
      batch.sequences = 1;
    } else {
      batch.decodes = batch.sequences = 8;
      batch.decode_context_sum = 8 * 500;
      batch.decode_context_max = 500;
    }
    return StepModel(rank, placed, false).step({batch});
  };
  Seconds before(0);
  for (const double watts : {700., 600., 500., 400.}) {
    const StepCost prompt = step(watts, true);
    CHECK(prompt.time >= before);
    before = prompt.time;
  }
  CHECK(step(500, true).time.value() > 1.05 * step(700, true).time.value());
  CHECK(step(500, true).time.value() < 1.4 * step(700, true).time.value());
  CHECK(step(500, false).time.value() == Approx(step(700, false).time.value()).epsilon(0.01));
}

TEST_CASE("power limit: what a step takes longer is arithmetic, on the unit of the matrices") {
  DeviceSpec spec = catalog_device("h100_sxm")->spec();
  spec.power = {};
  spec.power.idle = Watts(100);
  spec.power.tdp = Watts(400);
  spec.power.active = Watts(50);
  spec.power.clocked = true;
  const Unit link{"link", {KernelKind::communication}}, copies{"copies", {KernelKind::copy}},
      matrices{"matrices", {KernelKind::gemm}};
  spec.units = {link, copies, matrices};
  const PowerLimit limit(spec);
  StepCost full;
  full.compute_bound = Seconds(2);
  full.memory_bound = Seconds(1);
  full.link_bound = Seconds(0.5);
  full.host_bound = Seconds(0.25);
  full.time = Seconds(3.75);
  full.energy = Joules(1200);
  full.clocked = Joules(900);
  full.flops = Flops(77);
  full.moved[own_memory] = Bytes(88);
  full.busy = {Seconds(0.5), Seconds(1), Seconds(2)};
  // At level 33 clocks are 99 / 132 = 3/4 of the full ones: 2 s of arithmetic take 8/3 s. The device has 250
  // W above what it draws at rest and while it is active.
  const StepCost slow = limit.at(33, full);
  CHECK(slow.time.value() == Approx(3.75 + 2. / 3));
  CHECK(slow.compute_bound.value() == Approx(8. / 3));
  CHECK(slow.memory_bound.value() == Approx(1));
  CHECK(slow.link_bound.value() == Approx(0.5));
  CHECK(slow.host_bound.value() == Approx(0.25));
  CHECK(slow.busy[0].value() == Approx(0.5));
  CHECK(slow.busy[1].value() == Approx(1));
  CHECK(slow.busy[2].value() == Approx(8. / 3));
  CHECK(slow.energy.value() == Approx(250 * (3.75 + 2. / 3)));
  CHECK(slow.flops == Flops(77));
  CHECK(slow.moved[own_memory] == Bytes(88));
  CHECK(limit.at(0, full).energy == Joules(1200));
  // It keeps the limit where 300 + 900 c^2 J are no more than 300 - 50 c^3 W give in 2 / c + 1.75 s. At level
  // 12, c = 120/132, these are 1043.8 and 1036.6 J; at level 13, c = 119/132, they are 1031.5 and 1045.2 J.
  CHECK(limit.level(full) == 13);
  full.energy = Joules(937.5);  // just 250 W
  CHECK(limit.level(full) == 0);
}

TEST_CASE("power limit: only what falls with the clocks is saved by lower ones") {
  DeviceSpec spec = catalog_device("h100_sxm")->spec();
  spec.power = {};
  spec.power.idle = Watts(100);
  spec.power.tdp = Watts(300);
  spec.power.clocked = true;
  const PowerLimit limit(spec);
  StepCost step;
  step.time = step.memory_bound = Seconds(1);
  step.energy = Joules(240);
  // 200 W are left for 240 J. Nothing is bound by arithmetic: where 160 J fall as the square of the clock,
  // 80 + 160 c^2 = 200 at c = sqrt(3/4) = 0.866, 17.7 steps of 1/132 below.
  step.clocked = Joules(160);
  CHECK(limit.level(step) == 18);
  // 200 + 40 c^2 are too many at every clock.
  step.clocked = Joules(40);
  CHECK(limit.level(step) == lowest_clock_level);
}
