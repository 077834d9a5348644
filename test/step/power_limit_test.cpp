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
