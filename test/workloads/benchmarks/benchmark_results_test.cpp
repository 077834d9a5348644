#include <algorithm>
#include <cmath>

#include "test/workloads/benchmarks/benchmark_samples.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"
#include "workloads/benchmarks/benchmark_result.h"

using namespace weir;
using namespace weir::test;

namespace {

double metric_named(const BenchmarkResult& benchmark, const std::string& name) {
  const auto at = std::ranges::find(benchmark.metrics, name, [](const auto& metric) { return metric.first; });
  INFO(name);
  REQUIRE(at != benchmark.metrics.end());
  return at->second;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string complaints_of_benchmark(const std::string& text) {
  return error_of(read_benchmarks, text);
}

std::string requests_of(const std::string& kind, const TemporaryFile& file, const std::string& more = "") {
  return R"({"kind": ")" + kind + R"(", "file": ")" + file.name() + "\"" + more + "}";
}

const std::string as_benchmarked = R"({"kind": "benchmark"})";

}  // namespace

TEST_CASE("benchmarks: vLLM's result has its numbers by summary.json's names, its load and its requests") {
  const auto all = read_benchmarks(vllm_bench_result, "result.json");
  REQUIRE(all.size() == 1);
  CHECK(all[0].tool == "vllm_bench");
  CHECK(all[0].of_model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(metric_named(all[0], "mean_ttft_ms") == 60);
  CHECK(metric_named(all[0], "p99_ttft_ms") == 69.8);
  CHECK(metric_named(all[0], "mean_e2el_ms") == 250);
  CHECK(metric_named(all[0], "total_token_throughput") == 330);
  CHECK(all[0].load.unknown == "");
  CHECK(std::isinf(all[0].load.request_rate));
  CHECK(all[0].load.concurrency == 2);
  REQUIRE(all[0].requests.size() == 3);  // one failed
  CHECK(all[0].failed == 1);
  CHECK(all[0].requests[2].input_tokens == 300);
  CHECK(all[0].requests[2].output_tokens == 30);
  CHECK(all[0].requests[2].ttft_ms == Approx(70));
  CHECK(all[0].requests[2].e2el_ms == Approx(70 + 290));
  CHECK(all[0].requests[2].tpot_ms == Approx(10));  // what its gaps sum up to, over 29 tokens
}

TEST_CASE("benchmarks: SGLang's lines are results of their own, with Python's Infinity and its own names") {
  const auto all = read_benchmarks(sglang_bench_results, "results.jsonl");
  REQUIRE(all.size() == 2);
  CHECK(all[0].tool == "sglang_bench");
  CHECK(std::isinf(all[0].load.request_rate));
  CHECK_FALSE(all[0].load.concurrency);
  CHECK(metric_named(all[0], "mean_e2el_ms") == 900);
  CHECK(metric_named(all[0], "total_token_throughput") == 165);
  CHECK(all[0].requests.size() == 2);
  CHECK_FALSE(all[0].requests[0].tpot_ms);  // not streamed
  CHECK(all[1].load.request_rate == 4);
  CHECK(all[1].load.burstiness == 1);
  CHECK_THAT(all[1].no_requests, Catch::Contains("no input_lens") && Catch::Contains("--output-details"));
}

TEST_CASE("benchmarks: AIPerf's records are requests, its summary has numbers and load but no lengths") {
  const auto records = read_benchmarks(aiperf_records, "profile_export.jsonl");
  REQUIRE(records.size() == 1);
  REQUIRE(records[0].requests.size() == 2);
  CHECK(records[0].requests[0].input_tokens == 550);
  CHECK(records[0].requests[1].ttft_ms == Approx(40));   // given in us
  CHECK(records[0].requests[1].e2el_ms == Approx(500));  // in s
  CHECK(records[0].requests[1].sent_s.value() - records[0].requests[0].sent_s.value() == Approx(1));
  CHECK(records[0].failed == 1);
  CHECK(records[0].load.unknown != "");
  const auto summary = read_benchmarks(aiperf_summary, "profile_export_aiperf.json");
  REQUIRE(summary.size() == 1);
  CHECK(metric_named(summary[0], "mean_ttft_ms") == Approx(45));  // in ns
  CHECK(metric_named(summary[0], "mean_tpot_ms") == 15);
  CHECK(metric_named(summary[0], "median_e2el_ms") == 490);
  CHECK(metric_named(summary[0], "completed") == 2);
  CHECK(summary[0].load.concurrency == 8);
  CHECK_THAT(summary[0].no_requests, Catch::Contains("profile_export.jsonl"));
}

TEST_CASE("benchmarks: GuideLLM's report has a result a load, and says where requests were left out") {
  const auto all = read_benchmarks(guidellm_report, "benchmarks.json");
  REQUIRE(all.size() == 2);
  CHECK(all[0].load.concurrency == 4);
  CHECK(metric_named(all[0], "mean_ttft_ms") == 45);
  CHECK(metric_named(all[0], "p90_ttft_ms") == 49);
  CHECK(metric_named(all[0], "mean_tpot_ms") == 15);
  CHECK(metric_named(all[0], "mean_e2el_ms") == 500);
  CHECK(metric_named(all[0], "output_throughput") == 52.5);
  CHECK(all[0].requests.size() == 2);
  CHECK(all[1].load.request_rate == 2.5);
  CHECK(std::isinf(all[1].load.burstiness));
  CHECK(all[1].requests.empty());
  CHECK_THAT(all[1].no_requests, Catch::Contains("1 of its 3 requests"));
}

TEST_CASE("benchmarks: requests and load of a result are a workload") {
  const TemporaryFile vllm(vllm_bench_result), sglang(sglang_bench_results), aiperf(aiperf_records),
      guidellm(guidellm_report);
  const Workload closed = workload_of(requests_of("vllm_bench", vllm), as_benchmarked);
  REQUIRE(closed.closed_loop);
  CHECK(closed.closed_loop->concurrency == 2);
  CHECK(closed.requests.size() == 3);
  CHECK(closed.notes ==
        std::vector<std::string>{"dropped 1 of 4 requests that failed in the benchmark (50 prompt tokens)"});
  const Workload sent = workload_of(requests_of("vllm_bench", vllm), as_traced);
  CHECK_FALSE(sent.closed_loop);
  CHECK(sent.requests[2].arrival == Seconds(0.5));
  const Workload at_once =
      workload_of(requests_of("sglang_bench", sglang, R"(, "result": 0)"), as_benchmarked);
  CHECK_FALSE(at_once.closed_loop);
  CHECK(at_once.requests[1].arrival == Seconds(0));
  CHECK(std::isinf(at_once.traffic.request_rate.value()));
  CHECK(workload_of(requests_of("aiperf", aiperf), as_traced).requests[1].arrival.value() == Approx(1));
  const std::string first = R"(, "result": 0)";
  CHECK(workload_of(requests_of("guidellm", guidellm, first), as_benchmarked).closed_loop->concurrency == 4);
}

TEST_CASE("benchmarks: a rate is played as the generator draws it") {
  std::string text = changed(vllm_bench_result, R"("max_concurrency": 2)", R"("max_concurrency": null)");
  text = changed(text, R"("request_rate": "inf")", R"("request_rate": 5.0)");
  std::string lens = "10", zeros = "1.0", texts = "\"\"", gaps = "[]";
  for (int i = 1; i < 4000; ++i) lens += ",10", zeros += ",1.0", texts += ",\"\"", gaps += ",[]";
  text = changed(text, "[[0.01], [0.01], [0.29], []]", "[" + gaps + "]");
  text = changed(text, "[100, 200, 300, 50]", "[" + lens + "]");
  text = changed(text, "[10, 20, 30, 0]", "[" + lens + "]");
  text = changed(text, "[1000.0, 1000.25, 1000.5, 1001.0]", "[" + zeros + "]");
  text = changed(text, "[0.05, 0.06, 0.07, 0.0]", "[" + zeros + "]");
  text = changed(text, R"(["", "", "", "timeout"])", "[" + texts + "]");
  const auto gaps_of = [&](const std::string& burstiness) {
    const TemporaryFile file(changed(text, R"("burstiness": 1.0)", R"("burstiness": )" + burstiness));
    const Workload workload = workload_of(requests_of("vllm_bench", file), as_benchmarked);
    CHECK(workload.traffic.burstiness == std::stod(burstiness));
    double sum = 0, squares = 0, before = 0;
    for (const Request& request : workload.requests) {
      const double gap = request.arrival.value() - before;
      before = request.arrival.value();
      sum += gap, squares += gap * gap;
    }
    const double n = 4000, mean = sum / n;
    return std::pair(mean, (squares / n - mean * mean) / (mean * mean));
  };
  for (const auto& [burstiness, variation] : {std::pair("1.0", 1.), {"4.0", 0.25}}) {
    const auto [mean, squared_cv] = gaps_of(burstiness);
    CHECK(mean == Approx(0.2).epsilon(0.06));  // four standard deviations of the mean of 4,000
    CHECK(squared_cv == Approx(variation).epsilon(0.2));
  }
}

TEST_CASE("benchmarks: a Poisson rate is drawn as arrivals of kind poisson are") {
  std::string text = changed(vllm_bench_result, R"("max_concurrency": 2)", R"("max_concurrency": null)");
  const TemporaryFile file(changed(text, R"("request_rate": "inf")", R"("request_rate": 5.0)"));
  const std::string requests = requests_of("vllm_bench", file);
  const Workload drawn = workload_of(requests, as_benchmarked);
  const Workload poisson = workload_of(requests, R"({"kind": "poisson", "rate_per_s": 5})");
  for (std::size_t i = 0; i < 3; ++i) CHECK(drawn.requests[i].arrival == poisson.requests[i].arrival);
  CHECK(drawn.traffic.request_rate == 5);
}

TEST_CASE(
    "benchmarks: how AIPerf spaced requests is what it says or its default, and genai-perf's is not known") {
  const auto load_of = [](const std::string& generator) {
    return read_benchmarks(changed(aiperf_summary, R"("loadgen": {"concurrency": 8})", generator), "s")[0]
        .load;
  };
  const BenchmarkLoad by_default = load_of(R"("loadgen": {"request_rate": 3})");
  CHECK((by_default.unknown.empty() && by_default.request_rate == 3 && by_default.burstiness == 1));
  CHECK(std::isinf(load_of(R"("loadgen": {"request_rate": 3, "request_rate_mode": "constant"})").burstiness));
  CHECK_THAT(load_of(R"("loadgen": {"request_rate": 3, "request_rate_mode": "bursts"})").unknown,
             Catch::Contains("request_rate_mode is \"bursts\""));
  CHECK(load_of(R"("perf_analyzer": {"stimulus": {"concurrency": 4}})").concurrency == 4);
  CHECK_THAT(load_of(R"("perf_analyzer": {"stimulus": {"request_rate": 4}})").unknown,
             Catch::Contains("does not say how"));
  const std::string warm =
      changed(aiperf_records, R"("session_num": 0,)", R"("session_num": 0, "benchmark_phase": "warmup",)");
  CHECK(read_benchmarks(warm, "s")[0].requests.size() == 1);
}

TEST_CASE("benchmarks: what a file cannot say is told at its keys, never guessed") {
  const TemporaryFile vllm(vllm_bench_result), sglang(sglang_bench_results), aiperf(aiperf_records),
      summary(aiperf_summary), plain(changed(vllm_bench_result, R"("input_lens")", R"("other_lens")")),
      both(changed(vllm_bench_result, R"("request_rate": "inf")", R"("request_rate": 5)")),
      detailed(vllm_bench_result),
      ramp(changed(vllm_bench_result, R"("burstiness": 1.0)", R"("ramp_up_strategy": "linear")"));
  CHECK_THAT(problems_of(requests_of("vllm_bench", plain), as_benchmarked),
             Catch::Contains("--save-detailed"));
  CHECK_THAT(problems_of(requests_of("sglang_bench", sglang), as_benchmarked),
             Catch::Contains("holds 2 results (0: all at once, 1: 4/s): `result` says which"));
  CHECK_THAT(problems_of(requests_of("sglang_bench", sglang, R"(, "result": 2)"), as_benchmarked),
             Catch::Contains("there is no result 2"));
  CHECK_THAT(problems_of(requests_of("guidellm", vllm), as_benchmarked),
             Catch::Contains("is a result of vllm_bench, not of guidellm"));
  CHECK_THAT(problems_of(requests_of("aiperf", summary), as_benchmarked),
             Catch::Contains("profile_export.jsonl"));
  CHECK_THAT(problems_of(requests_of("aiperf", aiperf), as_benchmarked),
             Catch::Contains("/arrivals/kind") && Catch::Contains("profile_export_aiperf.json"));
  const Workload bounded = workload_of(requests_of("vllm_bench", both), as_benchmarked);
  CHECK(bounded.traffic.request_rate == 5);
  CHECK(bounded.max_in_flight == 2);
  CHECK_FALSE(bounded.closed_loop);
  // A bound that the scenario says stands in for the result's, at a rate and in a closed loop.
  const std::string own_bound = R"({"kind": "benchmark", "max_in_flight": 3})";
  CHECK(workload_of(requests_of("vllm_bench", both), own_bound).max_in_flight == 3);
  CHECK(workload_of(requests_of("vllm_bench", detailed), own_bound).closed_loop->concurrency == 3);
  CHECK_THAT(problems_of(requests_of("vllm_bench", ramp), as_benchmarked), Catch::Contains("ramped up"));
  CHECK_THAT(
      problems_of(R"({"kind": "fixed", "count": 1, "input_tokens": 1, "output_tokens": 1})", as_benchmarked),
      Catch::Contains("its requests are not a benchmark's"));
}

TEST_CASE("benchmarks: every mistake of a file is told at its pointer, ten at most") {
  std::string text = changed(vllm_bench_result, "[100, 200, 300, 50]", R"([100, -2, "x", 1.5])");
  text = changed(text, R"("duration": 2.0)", R"("duration": "long")");
  const std::string told = complaints_of_benchmark(text);
  for (const char* pointer :
       {"/duration: expected a number", "/input_lens/1: expected a whole number of tokens", "/input_lens/2",
        "/input_lens/3"})
    CHECK_THAT(told, Catch::Contains(pointer));
  CHECK_THAT(complaints_of_benchmark(changed(vllm_bench_result, "[100, 200, 300, 50]", "[100, 0, 300, 50]")),
             Catch::Contains("/input_lens: request 1 has a prompt of 0 tokens"));
  CHECK_THAT(complaints_of_benchmark(changed(vllm_bench_result, "[10, 20, 30, 0]", "[10]")),
             Catch::Contains("/output_lens: expected the 4 elements of input_lens, got 1"));
  std::string many = "-1";
  for (int i = 0; i < 100; ++i) many += ",-1";
  CHECK_THAT(complaints_of_benchmark(changed(vllm_bench_result, "[10, 20, 30, 0]", "[" + many + "]")),
             Catch::Contains("more such problems"));
  CHECK_THAT(complaints_of_benchmark("{}"), Catch::Contains("is no result of a benchmark"));
  CHECK_THAT(complaints_of_benchmark("[1]"), Catch::Contains("expected an object"));
  CHECK_THAT(complaints_of_benchmark(""), Catch::Contains("not valid JSON"));
  CHECK_THAT(complaints_of_benchmark(std::string(100, '{')), Catch::Contains("JSON"));
  CHECK_THAT(complaints_of_benchmark(std::string(sglang_bench_results) + "{\n"),
             Catch::Contains("line 3: is not valid JSON"));
}
