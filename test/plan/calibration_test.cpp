// engine.calibration: what weir calibrate wrote stands where a preset would.
#include "sim/plan/calibration.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "sim/plan/plan.h"
#include "test/app/scratch_directory.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

Json with_engine(Json engine) {
  Json s = test::small_scenario();
  s["cluster"] = {{"nodes", Json::array({{{"devices", Json::array({{{"kind", "h100_sxm"}}})}}})}};
  s["serving"]["replicas"] = Json::array({{{"engine", std::move(engine)}}});
  return s;
}

Json calibration_of(const Json& constants) {
  Json json = {{"engine", "vllm"}, {"engine_version", "0.19"}, {"device", "h100_sxm"}};
  json.update(constants);
  return json;
}

std::string wrong_with(const Json& engine) {
  try {
    read_plan(with_engine(engine), "s.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

Seconds time_of_product(const Plan& plan) {
  const Kernel matrix =
      Gemm{.in = 4096, .out = 4096, .weights = DataType::bf16, .activations = DataType::bf16};
  const KernelWork work{.name = "o_proj", .kernel = matrix, .rows = 4};
  return plan.replicas[0].rank.on->cost(work, 0).time;
}

}  // namespace

TEST_CASE(
    "calibration: its times are the engine's, those it lacks the preset's, and what is given counts first") {
  const Plan preset = read_plan(with_engine(Json::object()), "s.json");
  const Json constants = {{"step_overhead_us", 700}, {"front_end_ms", 9}};
  const Plan plan = read_plan(with_engine({{"calibration", calibration_of(constants)}}), "s.json");
  const ReplicaSpec &was = preset.replicas[0].spec, &is = plan.replicas[0].spec;
  CHECK(is.engine.per_step.value() == Approx(700e-6));
  CHECK(is.front_end.per_request.value() == Approx(9e-3));
  CHECK(is.engine.per_sequence == was.engine.per_sequence);

  const Plan given = read_plan(
      with_engine(
          {{"calibration", calibration_of(constants)}, {"front_end_ms", 3}, {"step_overhead_us", 100}}),
      "s.json");
  CHECK(given.replicas[0].spec.front_end.per_request.value() == Approx(3e-3));
  CHECK(given.replicas[0].spec.engine.per_step.value() == Approx(100e-6));
  CHECK(given.scenario.notes.size() == preset.scenario.notes.size() + 1);
}

TEST_CASE("calibration: kernels of its own device reach so much, and no more than all") {
  const auto time_at = [](double memory, const char* device) {
    Json constants = {{"memory_efficiency", memory}, {"device", device}};
    return time_of_product(read_plan(with_engine({{"calibration", calibration_of(constants)}}), "s.json"));
  };
  const Seconds as_measured = time_at(1, "h100_sxm"), half = time_at(0.5, "h100_sxm"),
                most = time_at(4, "h100_sxm");
  CHECK(half > 1.5 * as_measured);
  CHECK(most < as_measured);
  const double bytes = 4096.0 * 4096 * 2;
  CHECK(most.value() > bytes / 3.352e12);  // the roofline
  CHECK(time_at(0.5, "l40s") == as_measured);
  const Json elsewhere = calibration_of({{"memory_efficiency", 0.5}, {"device", "l40s"}});
  const auto notes = read_plan(with_engine({{"calibration", elsewhere}}), "s.json").scenario.notes;
  CHECK(std::ranges::any_of(notes,
                            [](auto& note) { return note.find("they are of l40s") != std::string::npos; }));
}

TEST_CASE("calibration: a file is read beside the scenario, and its mistakes are told with its name") {
  const ScratchDirectory scratch;
  const auto write = [&](const Json& json) { std::ofstream(scratch / "c.json") << json; };
  const std::string scenario = scratch / "s.json";
  write(calibration_of({{"step_overhead_us", 900}}));
  const Plan plan = read_plan(with_engine({{"calibration", "c.json"}}), scenario);
  CHECK(plan.replicas[0].spec.engine.per_step.value() == Approx(900e-6));
  // Results have it whole: the scenario in them runs without the file.
  CHECK(plan.scenario.resolved["serving"]["replicas"][0]["engine"]["calibration"]["step_overhead_us"] == 900);

  write({{"engine", "vllm_v1"}, {"step_overhead_us", -1}, {"steps", 2}});
  try {
    read_plan(with_engine({{"calibration", "c.json"}}), scenario);
    FAIL("nothing was told");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.what(), Catch::Contains("/serving/replicas/0/engine/calibration") &&
                                 Catch::Contains("c.json") && Catch::Contains("/device") &&
                                 Catch::Contains("/step_overhead_us") && Catch::Contains("/steps"));
  }
}

TEST_CASE("calibration: of another engine, or no calibration at all, is an error at its pointer") {
  CHECK_THAT(wrong_with({{"kind", "trtllm"}, {"calibration", calibration_of(Json::object())}}),
             Catch::Contains("/engine/calibration: is of vllm 0.19, and this engine is trtllm"));
  CHECK_THAT(wrong_with({{"calibration", 7}}), Catch::Contains("/engine/calibration: expected"));
  CHECK_THAT(wrong_with({{"calibration", "missing.json"}}), Catch::Contains("missing.json"));
}
