// Results that no server can have, parts of a result that are left out, and results of other generators.
#include <catch2/catch.hpp>
#include <tuple>

#include "sim/app/measured/measured.h"
#include "test/workloads/benchmarks/benchmark_samples.h"
#include "test/workloads/read_trace.h"
#include "workloads/benchmarks/benchmark_result.h"

using namespace weir;
using namespace weir::test;
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string complaints(const std::string& from, const std::string& to) {
  return error_of(read_benchmarks, with(vllm_bench_result, from, to));
}

}  // namespace

TEST_CASE("benchmarks: times that no server has are refused") {
  const std::string mean = R"("mean_ttft_ms": 60.0)";
  CHECK_THAT(complaints(mean, R"("mean_ttft_ms": -30)"),
             Catch::Contains("mean_ttft_ms of -30 ms: no time is below 0"));
  CHECK_THAT(complaints(mean, R"("mean_ttft_ms": 10800000)"), Catch::Contains("is 3 hours"));
  CHECK_THAT(complaints(mean, R"("mean_ttft_ms": NaN)"), Catch::Contains("/mean_ttft_ms: expected a number"));
  CHECK_THAT(complaints(mean, R"("mean_ttft_ms": -Infinity)"),
             Catch::Contains("/mean_ttft_ms: expected a number"));
  CHECK_THAT(complaints(R"("completed": 3)", R"("completed": 1e300)"),
             Catch::Contains("completed of 1e+300"));
  CHECK_THAT(complaints("[0.05, 0.06, 0.07, 0.0]", "[10800, 0.06, 0.07, 0.0]"),
             Catch::Contains("request 0: TTFT"));
  CHECK(complaints(mean, R"("mean_ttft_ms": 3600000)").empty());  // an hour, exactly
  CHECK_FALSE(complaints(mean, R"("mean_ttft_ms": 3600001)").empty());
}

TEST_CASE("benchmarks: an answer of 0 tokens did not fail, and a first token that never came took no time") {
  const std::string text =
      with(with(vllm_bench_result, "timeout", ""), R"("completed": 3, "failed": 1)", R"("completed": 4)");
  const BenchmarkResult result = read_benchmarks(text, "r")[0];
  CHECK(result.failed == 0);
  CHECK(result.requests.size() == 4);
  CHECK_FALSE(result.requests[3].ttft_ms);
  // The file says 60 of all it has; here it is (50 + 60 + 70) / 3, of those that have one.
  CHECK(measured_summary(result)["mean_ttft_ms"].get<double>() == Approx(60));
  CHECK_THAT(measured_notes(result)[0],
             Catch::Contains("3 of 4 requests") && Catch::Contains("of 50 prompt tokens"));
  const Trace played = read_benchmark_trace(text, "r", "vllm_bench", {});
  CHECK(shown(played) == "0:100/10 0.25:200/20 0.5:300/30 1:50/1");
  CHECK(notes_say(played, "1 answers of 0 tokens did not fail"));
}

TEST_CASE("benchmarks: times of a result that are not read are named") {
  const std::string text = with(vllm_bench_result, R"("mean_itl_ms")", R"("p25_ttft_ms": 5, "mean_itl_ms")");
  CHECK(read_benchmarks(text, "r")[0].notes ==
        std::vector<std::string>{"not read of its times: p25_ttft_ms"});
  CHECK(read_benchmarks(vllm_bench_result, "r")[0].notes.empty());
}

TEST_CASE("benchmarks: no generator keeps 0 requests in flight") {
  for (const auto& [text, from, to] :
       {std::tuple(vllm_bench_result, R"("max_concurrency": 2)", R"("max_concurrency": 0)"),
        {aiperf_summary, R"("concurrency": 8)", R"("concurrency": 0)"},
        {guidellm_report, R"("streams": 4)", R"("streams": 0)"},
        {guidellm_report, R"("type_": "constant",)", R"("type_": "constant", "max_concurrency": 0,)"},
        {guidellm_report, R"("type_": "concurrent",)", R"("type_": "throughput", "max_concurrency": 0,)"},
        {inference_perf_summary, R"("concurrency": 8)", R"("concurrency": 0)"},
        {llmperf_summary, R"("num_concurrent_requests": 4)", R"("num_concurrent_requests": 0)"}}) {
    INFO(to);
    CHECK(error_of(read_benchmarks, text) == "");
    CHECK_THAT(error_of(read_benchmarks, with(text, from, to)), Catch::Contains("expected 1 or more"));
  }
}

TEST_CASE("benchmarks: requests of inference-perf, LLMPerf's, and a report of trtllm-bench") {
  const auto perf = read_benchmarks(inference_perf_requests, "r");
  REQUIRE(perf[0].requests.size() == 1);
  CHECK(perf[0].requests[0].ttft_ms == Approx(500));
  CHECK(perf[0].requests[0].tpot_ms == Approx(250));
  CHECK(perf[0].failed_input_tokens == 7);
  const auto llmperf = read_benchmarks(llmperf_responses, "r");
  CHECK(llmperf[0].tool == "llmperf");
  CHECK(llmperf[0].requests[0].tpot_ms == Approx(200));
  const auto trt = read_benchmarks(trtllm_report, "r");
  const Json summary = measured_summary(trt[0]);
  CHECK(summary["mean_ttft_ms"] == 40);
  CHECK(summary["mean_tpot_ms"] == 9);
  CHECK(summary["mean_e2el_ms"] == 900);
  CHECK(summary["duration"] == 5);
  CHECK(summary["total_input_tokens"] == 1000);
}

TEST_CASE("benchmarks: of many broken lines ten are listed, and the others counted") {
  std::string text = sglang_bench_results;
  for (int i = 0; i < 1000; ++i) text += "}\n";
  const std::string told = error_of(read_benchmarks, text);
  CHECK_THAT(told,
             Catch::Contains("line 12: is not valid JSON") && Catch::Contains("and 990 more such problems"));
  CHECK(told.size() < 1000);
}

TEST_CASE("benchmarks: a file of another kind is one error, however many lines it has") {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += R"({"timestamp": 1, "input_length": 5, "output_length": 6})"
            "\n";
  const std::string told = error_of(read_benchmarks, text);
  CHECK_THAT(told, Catch::Contains("a trace of Mooncake") && Catch::Contains("50000 such objects"));
  CHECK(told.size() < 500);
}
