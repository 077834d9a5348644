// weir plan as a user runs it: its files, that they agree, and that a run of it can be gone on with.
#include <catch2/catch.hpp>

#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("plan: the winner's scenario passes weir check, runs, and has the times that the plan says") {
  const ScratchDirectory scratch;
  const Ended ended = run_plan_of(scratch, plan_question(20, 500, 20, 100), {"--devices", "2xh100_sxm"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  for (const char* part : {"Together or apart: ", "vllm serve meta-llama/Llama-3.1-8B", "h100_sxm"})
    CHECK(ended.out.find(part) != std::string::npos);
  for (const char* name :
       {"plan.json", "results.sqlite", "results.csv", "scenario.json", "command.sh", "compose.yaml"})
    CHECK(std::filesystem::exists(scratch / "out" / name));
  const std::string scenario = (scratch / "out/scenario.json").string();
  CHECK(run_weir({"check", scenario}).code == 0);
  REQUIRE(run_weir({"run", scenario, "--out", (scratch / "run").string(), "--quiet"}).code == 0);
  const Json summary = read_json_file(scratch / "run/summary.json");
  const Json first = read_json_file(scratch / "out/plan.json")["ranked"][0];
  CHECK(summary["p99_ttft_ms"] == first["ttft"]["ms"]);
  CHECK(summary["p99_tpot_ms"] == first["tpot"]["ms"]);
  CHECK(summary["cost"]["dollars_per_hour"] == first["dollars_per_hour"]);
  const Ended report = run_weir({"report", (scratch / "out").string()});
  CHECK(report.err.find("no result yet") == std::string::npos);
}

TEST_CASE("plan: results are the same whatever the jobs, and a plan that is resumed runs nothing again") {
  const ScratchDirectory one, two;
  const Json question = plan_question(20, 500, 20, 60);
  REQUIRE(run_plan_of(one, question, {"--devices", "2xh100_sxm", "--jobs", "1", "--quiet"}).code == 0);
  REQUIRE(run_plan_of(two, question, {"--devices", "2xh100_sxm", "--jobs", "3", "--quiet"}).code == 0);
  for (const char* name : {"plan.json", "results.csv", "scenario.json", "command.sh", "compose.yaml"}) {
    INFO(name);
    CHECK(contents(one / "out" / name) == contents(two / "out" / name));
  }
  const std::string before = contents(one / "out/plan.json");
  const auto written = std::filesystem::last_write_time(one / "out/results.sqlite");
  REQUIRE(run_plan_of(one, question, {"--devices", "2xh100_sxm", "--resume", "--quiet"}).code == 0);
  CHECK(contents(one / "out/plan.json") == before);
  CHECK(std::filesystem::last_write_time(one / "out/results.sqlite") >= written);
  const Ended other =
      run_plan_of(one, plan_question(21, 500, 20, 60), {"--devices", "2xh100_sxm", "--resume", "--quiet"});
  CHECK(other.code == 2);
}

TEST_CASE("plan: where nothing meets the SLO it says so, shows the nearest, and writes no winner") {
  const ScratchDirectory scratch;
  Json question = plan_question(20, 500, 30, 100);
  REQUIRE(run_plan_of(scratch, question, {"--devices", "1xh100_sxm", "--quiet"}).code == 0);
  CHECK(std::filesystem::exists(scratch / "out/scenario.json"));
  question["slo"]["tpot_ms"] = 12;  // beside others a token takes 23
  const Ended ended = run_plan_of(scratch, question, {"--devices", "1xh100_sxm"});
  CHECK(ended.code == 3);
  CHECK(ended.out.find("None meets the SLO") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch / "out/scenario.json"));
  CHECK_FALSE(std::filesystem::exists(scratch / "out/command.sh"));
  question["slo"]["tpot_ms"] = 0.1;
  const Ended hopeless = run_plan_of(scratch, question, {"--devices", "1xh100_sxm"});
  CHECK(hopeless.code == 3);
  CHECK(hopeless.out.find("such as TP1 on h100_sxm: a token takes 6.79") != std::string::npos);
}

TEST_CASE("plan: how sure it is of each pool is said where their nearest measurements differ") {
  const ScratchDirectory scratch;
  Json question = plan_question(2, 2000, 60, 40);
  CHECK_THAT(run_plan_of(scratch, question, {"--devices", "1xh100_sxm"}).out,
             Catch::Contains("\nHow sure: "));
  question["serving"] = {{"replicas",
                          {{{"role", "prefill"}, {"parallelism", {{"tensor", 1}}}},
                           {{"role", "decode"}, {"parallelism", {{"tensor", 2}}}}}}};
  const Ended apart = run_plan_of(scratch, question, {"--devices", "3xh100_sxm"});
  INFO(apart.out << apart.err);
  CHECK_THAT(apart.out,
             Catch::Contains("\nHow sure (prefill): ") && Catch::Contains("\nHow sure (decode): "));
}

TEST_CASE("plan: a calibration that the replica names is used, and said to be its server's") {
  const ScratchDirectory scratch;
  write_json(scratch / "mine.json",
             {{"engine", "vllm_v1"}, {"device", "h100_sxm"}, {"step_overhead_us", 9000}});
  const auto first_with = [&](const Json& engine, const std::string& devices) {
    Json question = plan_question(2, 2000, 60, 40);
    question["serving"] = {{"replicas", Json::array({{{"engine", engine}}})}};
    const Ended ended = run_plan_of(scratch, question, {"--devices", devices});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return std::pair(read_json_file(scratch / "out/plan.json")["ranked"][0], ended.out);
  };
  const auto [preset, said] = first_with({{"kind", "vllm_v1"}}, "1xh100_sxm");
  CHECK_THAT(said, Catch::Contains("Not calibrated"));
  CHECK(preset["confidence"]["calibration"].is_null());
  const Json engine = {{"kind", "vllm_v1"}, {"calibration", "mine.json"}};
  const auto [calibrated, told] = first_with(engine, "1xh100_sxm");
  CHECK_THAT(told, Catch::Contains("Calibrated to a server with vllm_v1 on h100_sxm\n"));
  CHECK(calibrated["tpot"]["ms"].get<double>() > preset["tpot"]["ms"].get<double>() + 5);
  CHECK_THAT(first_with(engine, "1xl40s").second, Catch::Contains("its host's times alone"));
}
