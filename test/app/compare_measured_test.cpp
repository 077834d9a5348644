#include <catch2/catch.hpp>

#include "sim/app/compare/comparison.h"
#include "sim/app/measured/measured.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"
#include "test/workloads/benchmarks/benchmark_samples.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("compare: a run beside what was measured has the error of each metric that the file has") {
  const ScratchDirectory scratch;
  make_run(scratch / "a",
           made_summary(Json::object(), {{"mean_ttft_ms", 66}, {"mean_tpot_ms", 9}, {"energy_j", 1}}));
  write(scratch / "vllm.json", vllm_bench_result);
  const Ended told = run_weir({"compare", "a", "vllm.json"}, {.folder = scratch.path()});
  INFO(told.err);
  REQUIRE(told.code == 0);
  CHECK_THAT(told.out,
             Catch::Contains("A  vllm.json: vllm_bench, meta-llama/Llama-3.1-8B-Instruct (measured)"));
  CHECK_THAT(told.out, Catch::Matches("[\\s\\S]*mean_ttft_ms +60 +66 +\\+10.0 %[\\s\\S]*"));
  CHECK_THAT(told.out, Catch::Matches("[\\s\\S]*mean_tpot_ms +10 +9 +-10.0 %[\\s\\S]*"));
  CHECK_THAT(told.out, !Catch::Contains("energy_j") && !Catch::Contains("scenarios are the same"));
}

TEST_CASE("compare: of AIPerf's records the numbers are summed up as a run's are") {
  const Json summary = measured_summary(read_benchmarks(aiperf_records, "profile_export.jsonl")[0]);
  CHECK(summary["completed"] == 2);
  CHECK(summary["total_input_tokens"] == 1000);
  CHECK(summary["mean_ttft_ms"].get<double>() == Approx(45));
  CHECK(summary["p90_ttft_ms"].get<double>() == Approx(49));
  CHECK(summary["median_tpot_ms"].get<double>() == Approx(15));
  CHECK(summary["duration"].get<double>() == Approx(1.5));  // the first is sent, the last has ended
  CHECK(summary["output_throughput"].get<double>() == Approx(70 / 1.5));
}

TEST_CASE("compare: a file of several results, and one that is none, end with exit 2") {
  const ScratchDirectory scratch;
  make_run(scratch / "a", made_summary(Json::object(), {{"mean_ttft_ms", 66}}));
  write(scratch / "guide.json", guidellm_report);
  write(scratch / "none.json", "{}");
  const auto compared = [&](std::vector<std::string> with) {
    std::vector<std::string> arguments = {"compare", "a"};
    arguments.insert(arguments.end(), with.begin(), with.end());
    return run_weir(arguments, {.folder = scratch.path()});
  };
  CHECK(compared({"guide.json"}).code == 2);
  CHECK_THAT(compared({"guide.json"}).err,
             Catch::Contains("guide.json: holds 2 results (0: 4 in flight, 1: 2.5/s): "
                             "--result says which"));
  CHECK(compared({"guide.json", "--result", "0"}).code == 0);
  CHECK(compared({"guide.json", "--result", "7"}).code == 2);
  CHECK(compared({"none.json"}).code == 2);
  CHECK_THAT(compared({"none.json"}).err, Catch::Contains("is no result of a benchmark"));
  CHECK(compared({"a", "--result", "0"}).code == 2);
}
