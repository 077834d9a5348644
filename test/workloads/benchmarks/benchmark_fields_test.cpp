// Every number of a load generator's result by its name in summary.json and in its unit, and older dialects.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "test/workloads/benchmarks/benchmark_samples.h"
#include "test/workloads/read_trace.h"
#include "workloads/benchmarks/benchmark_result.h"

using namespace weir;
using namespace weir::test;

namespace {

using Metrics = std::map<std::string, double>;

// To nine digits, as a factor of 1e3 or 1e-6 may round.
Metrics all_metrics(const BenchmarkResult& benchmark) {
  Metrics metrics;
  for (const auto& [name, value] : benchmark.metrics) metrics[name] = std::round(value * 1e6) / 1e6;
  return metrics;
}

}  // namespace

TEST_CASE("benchmarks: inference-perf's summary has these numbers and its concurrency") {
  const BenchmarkResult result = read_benchmarks(inference_perf_summary, "r").at(0);
  CHECK(all_metrics(result) == Metrics{{"failed", 1},
                                       {"completed", 49},
                                       {"total_input_tokens", 49000},
                                       {"total_output_tokens", 9310},
                                       {"request_throughput", 9.9},
                                       {"output_throughput", 1890},
                                       {"total_token_throughput", 11790},
                                       {"mean_e2el_ms", 2080},
                                       {"median_e2el_ms", 1900},
                                       {"p50_e2el_ms", 1900},
                                       {"p90_e2el_ms", 2500},
                                       {"p99_e2el_ms", 3300},
                                       {"mean_ttft_ms", 100},
                                       {"median_ttft_ms", 90},
                                       {"p50_ttft_ms", 90},
                                       {"mean_tpot_ms", 10.5},
                                       {"mean_itl_ms", 10.5}});
  CHECK((result.load.concurrency == 8 && result.load.unknown.empty()));
}

TEST_CASE("benchmarks: LLMPerf's summary has these numbers and its concurrency") {
  const BenchmarkResult result = read_benchmarks(llmperf_summary, "r").at(0);
  CHECK(all_metrics(result) == Metrics{{"completed", 30},
                                       {"failed", 1},
                                       {"request_throughput", 1},
                                       {"output_throughput", 150},
                                       {"mean_ttft_ms", 500},
                                       {"std_ttft_ms", 100},
                                       {"median_ttft_ms", 400},
                                       {"p50_ttft_ms", 400},
                                       {"p99_ttft_ms", 900},
                                       {"mean_e2el_ms", 2000},
                                       {"median_e2el_ms", 1900},
                                       {"p50_e2el_ms", 1900}});
  CHECK((result.load.concurrency == 4 && result.of_model == "m"));
}

TEST_CASE("benchmarks: trtllm-bench's report has these numbers") {
  const BenchmarkResult result = read_benchmarks(trtllm_report, "r").at(0);
  CHECK(all_metrics(result) == Metrics{{"completed", 10},
                                       {"total_input_tokens", 1000},
                                       {"total_output_tokens", 200},
                                       {"duration", 5},
                                       {"request_throughput", 2},
                                       {"mean_e2el_ms", 900},
                                       {"p99_e2el_ms", 1000},
                                       {"mean_ttft_ms", 40},
                                       {"median_ttft_ms", 39},
                                       {"p50_ttft_ms", 39},
                                       {"mean_tpot_ms", 9}});
  CHECK((result.tool == "trtllm_bench" && result.of_model == "m"));
}

TEST_CASE("benchmarks: AIPerf's summary and GuideLLM's report have these numbers") {
  CHECK(all_metrics(read_benchmarks(aiperf_summary, "r").at(0)) == Metrics{{"completed", 2},
                                                                           {"request_throughput", 1.25},
                                                                           {"output_throughput", 47},
                                                                           {"mean_ttft_ms", 45},
                                                                           {"mean_tpot_ms", 15},
                                                                           {"mean_e2el_ms", 500},
                                                                           {"median_e2el_ms", 490},
                                                                           {"p50_e2el_ms", 490},
                                                                           {"p99_e2el_ms", 600},
                                                                           {"std_e2el_ms", 9}});
  CHECK(all_metrics(read_benchmarks(guidellm_report, "r").at(0)) == Metrics{{"completed", 2},
                                                                            {"request_throughput", 1.5},
                                                                            {"output_throughput", 52.5},
                                                                            {"mean_ttft_ms", 45},
                                                                            {"median_ttft_ms", 44},
                                                                            {"std_ttft_ms", 5},
                                                                            {"p50_ttft_ms", 44},
                                                                            {"p90_ttft_ms", 49},
                                                                            {"p95_ttft_ms", 49.5},
                                                                            {"p99_ttft_ms", 49.9},
                                                                            {"mean_tpot_ms", 15},
                                                                            {"mean_e2el_ms", 500}});
}

TEST_CASE("benchmarks: each strategy of GuideLLM is a load, under its old name too") {
  const auto load = [](const std::string& config) {
    return read_benchmarks(R"({"metadata": {}, "benchmarks": [{)" + config + R"(, "metrics": {}}]})", "r")
        .at(0)
        .load;
  };
  const auto strategy = [&](const std::string& fields) {
    return load(R"("config": {"strategy": {)" + fields + "}}");
  };
  CHECK(strategy(R"("type_": "synchronous")").concurrency == 1);
  CHECK(strategy(R"("type_": "concurrent", "streams": 6)").concurrency == 6);
  CHECK(strategy(R"("type_": "throughput", "max_concurrency": 7)").concurrency == 7);
  CHECK_FALSE(strategy(R"("type_": "throughput")").concurrency);
  const BenchmarkLoad poisson = strategy(R"("type_": "poisson", "rate": 2.5, "max_concurrency": 9)");
  CHECK((poisson.request_rate == 2.5 && poisson.burstiness == 1 && poisson.concurrency == 9));
  const BenchmarkLoad even = strategy(R"("type_": "constant", "rate": 3)");
  CHECK((even.request_rate == 3 && std::isinf(even.burstiness) && !even.concurrency));
  CHECK_THAT(strategy(R"("type_": "sweep")").unknown, Catch::Contains("its strategy is \"sweep\""));
  CHECK(load(R"("args": {"strategy": {"type_": "concurrent", "streams": 5}})").concurrency == 5);
  CHECK(load(R"("args": {})").unknown == "its config has no strategy");
}

TEST_CASE("benchmarks: GuideLLM's requests have their own times, wherever their start is written") {
  const auto result = read_benchmarks(R"({"metadata": {}, "benchmarks": [{"requests": {"successful": [
    {"start_time": 2.5, "prompt_tokens": 50, "output_tokens": 4, "time_to_first_token_ms": 60,
     "inter_token_latency_ms": 7, "request_latency": 0.5},
    {"info": {"timings": {"request_start": 3.5}}, "prompt_tokens": 51, "output_tokens": 1,
     "time_to_first_token_ms": 61, "inter_token_latency_ms": 8, "request_latency": 0.75}]}}], "config": {}})",
                                      "r");
  REQUIRE(result.at(0).requests.size() == 2);
  const BenchmarkedRequest &first = result[0].requests[0], &second = result[0].requests[1];
  CHECK((first.input_tokens == 50 && first.output_tokens == 4 && first.sent_s == 2.5));
  CHECK((first.ttft_ms == 60 && first.tpot_ms == 7 && first.e2el_ms == Approx(500)));
  CHECK((second.sent_s == 3.5 && second.ttft_ms == 61 && second.e2el_ms == Approx(750)));
  CHECK_FALSE(second.tpot_ms);  // an answer of one token has no gaps
}

TEST_CASE(
    "benchmarks: inference-perf's newer records nest their tokens, and an end without tokens is the "
    "client's") {
  const auto nested = read_benchmarks(
      R"([{"start_time": 5.0, "end_time": 6.5, "error": null, "info": {
    "request_metrics": {"text": {"input_tokens": 31}},
    "response_metrics": {"output_tokens": 5, "output_token_times": [5.25, 5.5, 6.25]}}},
    {"start_time": 7.0, "end_time": 7.75, "info": {"input_tokens": 8, "output_tokens": 2}},
    {"start_time": 8.0, "end_time": 9.0, "error": {}, "info": {"request_metrics": {"text": {"input_tokens": 9}}}}])",
      "r");
  REQUIRE(nested.at(0).requests.size() == 2);
  const BenchmarkedRequest &first = nested[0].requests[0], &second = nested[0].requests[1];
  CHECK((first.input_tokens == 31 && first.output_tokens == 5));
  CHECK((first.ttft_ms == Approx(250) && first.e2el_ms == Approx(1250) && first.tpot_ms == Approx(250)));
  CHECK((second.e2el_ms == Approx(750) && !second.ttft_ms && !second.tpot_ms));
  CHECK((nested[0].failed == 1 && nested[0].failed_input_tokens == 9));
}

TEST_CASE("benchmarks: a whole request may take a day, and a time no more than an hour") {
  const auto told = [](const std::string& field) {
    std::string text = vllm_bench_result;
    const std::string mean = R"("mean_itl_ms": 11.0)";
    return error_of(read_benchmarks, text.replace(text.find(mean), mean.size(), field));
  };
  CHECK(told(R"("p99_e2el_ms": 86400000)") == "");
  CHECK_THAT(told(R"("p99_e2el_ms": 86400001)"), Catch::Contains("is 24 hours"));
  CHECK(told(R"("p99_itl_ms": 3600000)") == "");
  CHECK_THAT(told(R"("p99_itl_ms": 3600001)"), Catch::Contains("is 1 hours"));
  CHECK_THAT(told(R"("mean_itl_ms": 11.0, "completed": 2.5)"), Catch::Contains("whole number from 0"));
  CHECK(told(R"("mean_itl_ms": 11.0, "total_input_tokens": 1e15)") == "");
}

TEST_CASE("benchmarks: of several results each is listed by its load") {
  const auto results = read_benchmarks(
      R"({"metadata": {}, "benchmarks": [
      {"metrics": {}, "config": {"strategy": {"type_": "poisson", "rate": 2.5, "max_concurrency": 9}}},
      {"metrics": {}, "config": {"strategy": {"type_": "concurrent", "streams": 6}}},
      {"metrics": {}, "config": {"strategy": {"type_": "throughput"}}},
      {"metrics": {}, "config": {}}]})",
      "r");
  CHECK_THROWS_WITH(
      the_one(results, {}, "`result`", "r"),
      Catch::Contains("holds 4 results (0: 2.5/s, at most 9 in flight, 1: 6 in flight, 2: all at "
                      "once, 3: ?): `result` says which"));
  CHECK(the_one(results, 1, "`result`", "r").load.concurrency == 6);
  CHECK_THROWS_WITH(the_one(results, 4, "`result`", "r"), Catch::Contains("there is no result 4"));
}

TEST_CASE("benchmarks: vLLM's and SGLang's results have these numbers") {
  CHECK(all_metrics(read_benchmarks(vllm_bench_result, "r").at(0)) == Metrics{{"duration", 2},
                                                                              {"completed", 3},
                                                                              {"failed", 1},
                                                                              {"total_input_tokens", 600},
                                                                              {"total_output_tokens", 60},
                                                                              {"request_throughput", 1.5},
                                                                              {"output_throughput", 30},
                                                                              {"total_token_throughput", 330},
                                                                              {"mean_ttft_ms", 60},
                                                                              {"median_ttft_ms", 60},
                                                                              {"std_ttft_ms", 8.2},
                                                                              {"p99_ttft_ms", 69.8},
                                                                              {"mean_tpot_ms", 10},
                                                                              {"mean_itl_ms", 11},
                                                                              {"mean_e2el_ms", 250}});
  CHECK(all_metrics(read_benchmarks(sglang_bench_results, "r").at(0)) ==
        Metrics{{"duration", 2},
                {"completed", 2},
                {"total_input_tokens", 300},
                {"total_output_tokens", 30},
                {"request_throughput", 1},
                {"output_throughput", 15},
                {"total_token_throughput", 165},
                {"mean_ttft_ms", 50},
                {"mean_e2el_ms", 900}});
}

TEST_CASE("benchmarks: AIPerf's totals are told apart, and what failed counts its prompts") {
  std::string text = aiperf_summary;
  const std::string count = R"("request_count")";
  text.insert(text.find(count), R"("benchmark_duration": {"avg": 12}, "error_request_count": {"avg": 3},
    "total_isl": {"avg": 400}, "total_osl": {"avg": 500}, )");
  Metrics metrics = all_metrics(read_benchmarks(text, "r").at(0));
  CHECK((metrics["duration"] == 12 && metrics["failed"] == 3 && metrics["completed"] == 2));
  CHECK((metrics["total_input_tokens"] == 400 && metrics["total_output_tokens"] == 500));
  CHECK(read_benchmarks(aiperf_records, "r").at(0).failed_input_tokens == 550);
  std::string given = aiperf_records;
  const std::string failed = R"("error_isl": {"value": 550, "unit": "tokens"})";
  given.insert(given.find(failed), R"("input_sequence_length": {"value": 540}, )");
  CHECK(read_benchmarks(given, "r").at(0).failed_input_tokens == 540);
}

TEST_CASE("benchmarks: an answer of one token ends with it, and requests come by when they were sent") {
  const std::string text = R"({"request_rate": "inf", "total_input_tokens": 60, "request_throughput": 1,
    "input_lens": [10, 20, 30], "output_lens": [1, 2, 3], "start_times": [7.5, 7.0, 8.25],
    "ttfts": [0.25, 0.5, 0.125], "itls": [[], [], [0.5, 0.25]]})";
  const auto requests = read_benchmarks(text, "r").at(0).requests;
  REQUIRE(requests.size() == 3);
  CHECK((requests[0].e2el_ms == 250. && !requests[0].tpot_ms));
  CHECK((!requests[1].e2el_ms && !requests[1].tpot_ms));  // it did not stream
  CHECK((requests[2].e2el_ms == 875. && requests[2].tpot_ms == 375.));
  const Trace trace = read_benchmark_trace(text, "r", "vllm_bench", {});
  CHECK(shown(trace) == "0:20/2 0.5:10/1 1.25:30/3");
}
