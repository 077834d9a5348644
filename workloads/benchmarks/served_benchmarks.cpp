// Results of vLLM's and SGLang's serving benchmarks: vllm/benchmarks/serve.py of vllm-project/vllm (commit
// 009e6d4), python/sglang/bench_serving.py of sgl-project/sglang (commit 0033168), whose is vLLM's of 2024
// with other names. One object; SGLang appends them to a file, a line each.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

bool of_sglang(const nlohmann::json& object) {
  return object.contains("total_output_tokens_retokenized") || object.contains("mean_e2e_latency_ms");
}

// mean_ttft_ms, p99_itl_ms, ... as both write them; SGLang says e2e_latency for e2el.
void read_latencies(const ResultFields& result, BenchmarkResult& benchmark) {
  constexpr std::array<std::array<const char*, 2>, 5> kinds = {
      {{"ttft", "ttft"}, {"tpot", "tpot"}, {"itl", "itl"}, {"e2el", "e2el"}, {"e2e_latency", "e2el"}}};
  for (const auto& [theirs, ours] : kinds)
    for (const char* statistic : {"mean", "median", "std", "p50", "p90", "p95", "p99"}) {
      const std::string name = fmt::format("{}_{}_ms", statistic, theirs);
      if (const auto value = std::string_view(statistic) == "std" ? result.deviation(name.c_str())
                                                                  : result.number(name.c_str()))
        benchmark.metrics.emplace_back(fmt::format("{}_{}_ms", statistic, ours), *value);
    }
}

void read_traffic(const ResultFields& result, BenchmarkResult& benchmark) {
  BenchmarkLoad& load = benchmark.load;
  load.unknown = result.has("ramp_up_strategy") ? "its rate was ramped up, which no kind of arrivals does"
                 : result.has("request_rate")   ? ""
                                                : "it has no request_rate";
  if (!load.unknown.empty()) return;
  const bool endless = result.json()["request_rate"] == "inf";
  if (!endless) load.request_rate = result.number("request_rate").value_or(load.request_rate);
  load.burstiness = result.number("burstiness").value_or(1);
  if (!(load.request_rate > 0)) result.problem("request_rate", "expected more than 0");
  if (!(load.burstiness > 0)) result.problem("burstiness", "expected more than 0");
  load.concurrency = concurrency_of(result, "max_concurrency");
}

// A request that failed has an error, and no tokens.
bool failed(const ResultFields& result, std::size_t i) {
  if (!result.has("errors")) return false;
  const nlohmann::json& errors = result.json()["errors"];
  return errors.is_array() && i < errors.size() && errors[i].is_string() &&
         !errors[i].get_ref<const std::string&>().empty();
}

// Gaps between what the client got, which may be several tokens: they end with the last one.
void read_gaps(BenchmarkedRequest& request, const std::vector<double>& gaps_s) {
  if (gaps_s.empty() && request.output_tokens > 1) return;  // it did not stream
  const double rest_ms = 1e3 * std::accumulate(gaps_s.begin(), gaps_s.end(), 0.0);
  request.e2el_ms = *request.ttft_ms + rest_ms;
  if (request.output_tokens > 1) request.tpot_ms = rest_ms / static_cast<double>(request.output_tokens - 1);
}

void read_lengths(const ResultFields& result, BenchmarkResult& benchmark, const char* option) {
  if (!result.has("input_lens") || !result.has("output_lens")) {
    benchmark.no_requests =
        fmt::format("it has no {}: the benchmark writes the lengths of each request with {}",
                    result.has("input_lens") ? "output_lens" : "input_lens", option);
    return;
  }
  const std::vector<std::int64_t> input = result.token_counts("input_lens"),
                                  output = result.token_counts("output_lens");
  const std::vector<double> sent = result.numbers("start_times"), ttft = result.numbers("ttfts");
  const std::vector<std::vector<double>> gaps = result.lists_of_numbers("itls");
  const auto as_many = [&](const char* name, std::size_t count) {
    if (count != input.size())
      result.problem(name,
                     fmt::format("expected the {} elements of input_lens, got {}", input.size(), count));
    return count == input.size();
  };
  if (!as_many("output_lens", output.size())) return;
  if (result.has("start_times") && !as_many("start_times", sent.size())) return;
  if (result.has("ttfts") && !as_many("ttfts", ttft.size())) return;
  if (result.has("itls") && !as_many("itls", gaps.size())) return;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (failed(result, i)) {
      ++benchmark.failed;
      benchmark.failed_input_tokens += input[i];
      continue;
    }
    if (input[i] == 0) result.problem("input_lens", fmt::format("request {} has a prompt of 0 tokens", i));
    BenchmarkedRequest request;
    request.input_tokens = input[i];
    request.output_tokens = output[i];
    if (!sent.empty()) request.sent_s = sent[i];
    // vLLM writes 0 where no token came.
    if (!ttft.empty() && (output[i] > 0 || ttft[i] > 0)) request.ttft_ms = 1e3 * ttft[i];
    if (request.ttft_ms && !gaps.empty()) read_gaps(request, gaps[i]);
    benchmark.requests.push_back(request);
  }
}

}  // namespace

bool is_served_benchmark(const nlohmann::json& object) {
  return object.contains("total_input_tokens") && object.contains("request_throughput");
}

void read_served_benchmark(const ResultFields& result, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  const bool sglang = of_sglang(result.json());
  benchmark.tool = sglang ? "sglang_bench" : "vllm_bench";
  benchmark.of_model = result.text("model_id");
  for (const char* name : {"duration", "completed", "failed", "total_input_tokens", "total_output_tokens",
                           "request_throughput", "output_throughput", "total_token_throughput"})
    if (const auto value = result.number(name)) benchmark.metrics.emplace_back(name, *value);
  if (const auto value = result.number("total_throughput"))
    benchmark.metrics.emplace_back("total_token_throughput", *value);
  read_latencies(result, benchmark);
  read_traffic(result, benchmark);
  read_lengths(result, benchmark, sglang ? "--output-details" : "--save-detailed");
}

}  // namespace weir
