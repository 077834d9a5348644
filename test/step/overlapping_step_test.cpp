// Steps whose operators overlap: no sum tells their time, but all else is as for those that do not.
#include <catch2/catch.hpp>

#include "sim/studies/validation/kernels.h"
#include "test/models/llm/models.h"
#include "test/policies/make_policy.h"
#include "test/serving/run_in_child.h"
#include "test/step/played_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

class TwoBranches final : public PartitioningPolicy {
 public:
  explicit TwoBranches(bool serial) : serial_(serial) {}
  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    return two_branches(make_policy(partitioning_policies(), "device_only")->place(std::move(stage), units),
                        serial_);
  }

 private:
  bool serial_;
};
}  // namespace

TEST_CASE("step model: where an all-reduce hides under the other branch, the step is shorter, not cheaper",
          "[engine]") {
  std::mt19937_64 random(6);
  const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama3.1-70b"), {}, {.tensor = 8, .pipeline = 1}, 0));
  const StageGraph beside = two_branches(stage, false);
  const StepModel overlapping(replica, beside, false), one_by_one(replica, two_branches(stage, true), false);
  REQUIRE_FALSE(overlapping.serial());
  REQUIRE(one_by_one.serial());
  for (int i = 0; i < 50; ++i) {
    const RandomBatch batch(random);
    const StepCost cost = overlapping.step({batch.shape}), sum = one_by_one.step({batch.shape});
    const Seconds host = cost.host_bound;
    check_same(cost, play(replica, beside, batch.shape, false), host);
    CHECK(cost.time < sum.time);
    CHECK(cost.time - host >= cost.busy[0]);
    CHECK(cost.time - host >= cost.busy[1]);
    // Nothing computes under the second all-reduce: the next layer waits for it.
    CHECK(cost.time - host > sum.time - host - 0.51 * sum.busy[1]);
    check_near(cost.energy, sum.energy);
    check_near(cost.moved[own_memory], sum.moved[own_memory]);
    check_near(cost.flops, sum.flops);
  }
  CHECK_THROWS_WITH(StepModel(replica, beside, true), Catch::Contains("flows"));
}

TEST_CASE("step model: a run of decodes is its steps one by one, summed or played", "[engine]") {
  std::mt19937_64 random(7);
  const Rank replica = replica_on("a100_sxm_80gb", "nvlink3_switch", "vllm");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama2-70b"), {}, {.tensor = 4, .pipeline = 1}, 0));
  for (const StageGraph& placed : {stage, two_branches(stage, false)}) {
    const StepModel model(replica, placed, false);
    for (int round = 0; round < 20; ++round) {
      BatchShape shape;
      shape.decodes = shape.sequences = uniform_int(random, 1, 100);
      shape.decode_context_max = uniform_int(random, 100, 5000);
      shape.decode_context_sum = shape.decodes * shape.decode_context_max - uniform_int(random, 0, 99);
      const std::int64_t wanted = uniform_int(random, 1, 300);
      std::vector<StepRun> runs;
      const std::int64_t covered = model.decode_run({shape}, wanted, runs);
      CHECK((model.serial() ? covered == wanted : covered >= 1 && covered <= wanted));
      StepCost sum, by_run;
      std::int64_t steps = 0;
      for (const StepRun& run : runs) {
        by_run += run.total(run.steps);
        steps += run.steps;
      }
      REQUIRE(steps == covered);
      for (; steps > 0; --steps) {
        sum += model.step({shape});
        shape.decode_context_sum += shape.decodes;
        ++shape.decode_context_max;
      }
      check_near(by_run.time, sum.time);
      check_near(by_run.energy, sum.energy);
      check_near(by_run.moved[own_memory], sum.moved[own_memory]);
      check_near(by_run.busy[0], sum.busy[0]);
      check_near(by_run.busy[1], sum.busy[1]);
    }
  }
}

TEST_CASE("step model: drawn operators fill the step, the host first", "[engine]") {
  std::mt19937_64 random(8);
  const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama3.1-70b"), {}, {.tensor = 4, .pipeline = 2}, 1));
  for (const bool serial : {true, false}) {
    const StepModel model(replica, two_branches(stage, serial), false);
    const RandomBatch batch(random);
    const StepCost cost = model.step({batch.shape});
    std::array<Seconds, 2> busy{}, until{cost.host_bound, cost.host_bound};
    auto spans = model.operators({batch.shape});
    std::stable_sort(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.start < b.start; });
    for (const auto& span : spans) {
      const auto unit = static_cast<std::size_t>(span.unit);
      CHECK(span.start >= until[unit] * (1 - 1e-12));  // never two at once on one unit
      until[unit] = span.finish;
      busy[unit] += span.finish - span.start;
    }
    check_near(std::max(until[0], until[1]), cost.time);
    check_near(busy[0], cost.busy[0]);
    check_near(busy[1], cost.busy[1]);
  }
}

TEST_CASE("step model: a policy whose operators overlap is served faster, fast-forward or not", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 4}};
  const auto served = [&](bool serial, bool fast_forward) {
    scenario["fast_forward"] = fast_forward;
    return test::run(scenario, [serial](Plan& plan) {
      ReplicaPlan& replica = plan.replicas[0];
      replica.rank.partitioning = std::make_shared<TwoBranches>(serial);
      const Scenario& s = plan.scenario;
      replica.stages[0] =
          placed(build_stage(s.model, s.precision, replica.spec.parallelism, 0), replica.rank);
    });
  };
  const test::Outcome overlapped = served(false, true), step_by_step = served(false, false),
                      one_by_one = served(true, true);
  for (const test::Outcome* outcome : {&overlapped, &step_by_step, &one_by_one})
    REQUIRE(outcome->error == "");
  CHECK(overlapped.iterations == step_by_step.iterations);
  CHECK(overlapped.energy == Approx(step_by_step.energy));
  CHECK(overlapped.gap_mean == Approx(step_by_step.gap_mean));
  for (std::size_t i = 0; i < overlapped.requests.size(); ++i)
    CHECK(overlapped.requests[i].finished.value() ==
          Approx(step_by_step.requests[i].finished.value()).epsilon(1e-9));
  CHECK(overlapped.gap_mean < 0.97 * one_by_one.gap_mean);
}
