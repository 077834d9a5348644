// Results of LLMPerf (src/llmperf/common_metrics.py and token_benchmark_ray.py of ray-project/llmperf, commit
// 036ff0a): a summary, flattened, and the individual responses. Seconds. Its inter_token_latency_s is the
// whole request's time over its tokens, so TPOT is made of the others.
#include <fmt/format.h>

#include <array>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

constexpr std::array<Statistic, 7> llmperf_statistics = {{{"mean", "mean"},
                                                          {"quantiles_p50", "median"},
                                                          {"stddev", "std"},
                                                          {"quantiles_p50", "p50"},
                                                          {"quantiles_p90", "p90"},
                                                          {"quantiles_p95", "p95"},
                                                          {"quantiles_p99", "p99"}}};

}  // namespace

bool is_llmperf_summary(const nlohmann::json& object) {
  return object.contains("results_ttft_s_mean");
}

void read_llmperf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  benchmark.tool = "llmperf";
  benchmark.of_model = result.text("model");
  benchmark.no_requests =
      "it has no length of each request: LLMPerf writes these to the file of individual responses beside it";
  if (result.has("num_concurrent_requests"))
    benchmark.load = {.concurrency = concurrency_of(result, "num_concurrent_requests"), .unknown = ""};
  else
    benchmark.load.unknown = "it has no num_concurrent_requests";
  const auto completed = result.number("results_num_completed_requests");
  if (completed) benchmark.metrics.emplace_back("completed", *completed);
  if (const auto errors = result.number("results_number_errors"))
    benchmark.metrics.emplace_back("failed", *errors);
  if (const auto a_minute = result.number("results_num_completed_requests_per_min"))
    benchmark.metrics.emplace_back("request_throughput", *a_minute / 60);
  if (const auto rate = result.number("results_mean_output_throughput_token_per_s"))
    benchmark.metrics.emplace_back("output_throughput", *rate);
  for (const auto& [theirs, ours] : {std::pair("ttft_s", "ttft"), {"end_to_end_latency_s", "e2el"}}) {
    std::array<std::string, llmperf_statistics.size()> names;
    std::array<Statistic, llmperf_statistics.size()> statistics = llmperf_statistics;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = fmt::format("results_{}_{}", theirs, llmperf_statistics[i].theirs);
      statistics[i].theirs = names[i].c_str();
    }
    read_statistics(result, statistics, ours, 1e3, benchmark);
  }
}

bool is_llmperf_request(const nlohmann::json& object) {
  return object.contains("number_input_tokens") && object.contains("end_to_end_latency_s");
}

void read_llmperf_request(const ResultFields& record, std::vector<BenchmarkResult>& results) {
  if (results.empty()) {
    results.emplace_back().tool = "llmperf";
    results.back().load.unknown =
        "a file of responses does not say it: num_concurrent_requests of the summary does";
  }
  BenchmarkResult& benchmark = results.back();
  const auto input = tokens_of(record, "number_input_tokens");
  if (record.has("error_code")) {
    ++benchmark.failed;
    benchmark.failed_input_tokens += input.value_or(0);
    return;
  }
  const auto output = tokens_of(record, "number_output_tokens");
  if (!input || *input < 1) return record.problem("number_input_tokens", "expected 1 or more");
  if (!output) return record.problem("number_output_tokens", "expected the tokens of the answer");
  BenchmarkedRequest request;
  request.input_tokens = *input;
  request.output_tokens = *output;
  set_times(request, 0, record.number("ttft_s"), record.number("end_to_end_latency_s"));
  request.sent_s = {};  // which it does not say
  benchmark.requests.push_back(request);
}

}  // namespace weir
