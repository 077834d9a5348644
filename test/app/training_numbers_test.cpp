// The summary of training jobs, by hand: two copies of four steps that take 1, 2, 1 and 4 seconds.
#include <catch2/catch.hpp>

#include "sim/app/output/training/training_writers.h"
#include "sim/plan/plan.h"

using namespace weir;

namespace {

const char* const two_copies = R"({
  "kind": "training",
  "cluster": {"nodes": [{"count": 2, "devices": [
                {"kind": "xeon_e5_2630v3", "price_per_hour": 0.5}, {"kind": "a40", "price_per_hour": 1.25}]}]},
  "training": [{"model": "alexnet", "batch": 32, "steps": 4, "data_parallel": 2,
                "devices": ["xeon_e5_2630v3", "a40"], "runtime": {"kind": "gpu_only"}}]
})";

}  // namespace

TEST_CASE("training summary: times, samples, energy and cost are of all copies, by hand") {
  const Plan plan = read_plan(parse_json(two_copies, "two copies"), "t.json");
  const TrainingJob& job = plan.training.at(0);
  TrainingResult result;
  result.step = std::make_shared<const TrainingStep>(job.all_steps());
  for (const double end : {1., 3., 4., 8.}) result.run.ends.emplace_back(end);
  for (const StepGraph::Unit& unit : result.step->plan().graph.units)
    result.run.busy[unit.name] = std::vector(static_cast<std::size_t>(unit.members), Seconds(2));
  result.run.energy = Joules(100);
  result.run.moved = {{"pcie", Bytes(6e9)}};
  const std::vector<TrainingResult> jobs = {result};
  const std::vector<Seconds> alone = {Seconds(5.5)};
  const Json told = training_jobs_json({plan, jobs, &alone})[0];
  CHECK((told["data_parallel"] == 2 && told["batch"] == 32 && told["steps"] == 4));
  CHECK(told["duration"] == 8);
  CHECK((told["mean_step_ms"] == 2000 && told["p50_step_ms"] == 1500));
  CHECK(told["steady_step_ms"] == 2500);  // of the third and the fourth
  CHECK(told["samples_per_s"] == 2 * 32 * 4 / 8.);
  const double idle = job.machine.cpu->spec().power.idle.value() + job.machine.gpu->spec().power.idle.value();
  CHECK(told["dynamic_energy_j"] == 200);
  CHECK(told["energy_j"].get<double>() == Approx(200 + 2 * 8 * idle));
  CHECK(told["edp_js"].get<double>() == Approx(8 * (200 + 2 * 8 * idle)));
  CHECK(told["cost_dollars"].get<double>() == Approx(3.5 * 8 / 3600));
  CHECK(told["moved_gb"]["pcie"] == 6);
  CHECK((told["alone_duration"] == 5.5 && told["lost_s"] == 2.5));
  CHECK(told["beside"].is_null());
  const Json whole = training_summary_json({plan, jobs});
  CHECK(whole["duration"] == 8);
  CHECK_FALSE(whole["training"][0].contains("lost_s"));
}

TEST_CASE("training summary: less than half a nanosecond is not lost, and step times follow each other") {
  TrainingResult result;
  result.run.ends = {Seconds(0.25), Seconds(5 + 4e-10)};
  CHECK(lost_to_replicas(result, Seconds(5)) == Seconds(0));
  result.run.ends[1] = Seconds(5 + 6e-10);
  CHECK(lost_to_replicas(result, Seconds(5)).value() == Approx(1e-9));
  result.run.ends = {Seconds(0.25), Seconds(1), Seconds(1.125)};
  CHECK(step_times_ms(result.run) == std::vector<double>{250, 750, 125});
}
