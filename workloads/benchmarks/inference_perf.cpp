// Results of inference-perf, the load generator of llm-d and GKE (inference_perf/reportgen/base.py of
// kubernetes-sigs/inference-perf, commit 010d12f): summary_lifecycle_metrics.json and its stages', and
// per_request_lifecycle_metrics.json. All times are seconds.
#include <array>
#include <cmath>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

constexpr std::array<Statistic, 6> inference_perf_statistics = {{{"mean", "mean"},
                                                                 {"median", "median"},
                                                                 {"median", "p50"},
                                                                 {"p90", "p90"},
                                                                 {"p95", "p95"},
                                                                 {"p99", "p99"}}};

void read_load(const ResultFields& result, BenchmarkResult& benchmark) {
  benchmark.load.unknown =
      "its summary does not say how requests at its rate were spaced (load.type in its config.yaml)";
  const auto load = result.object("load_summary");
  if (!load || !load->has("concurrency")) return;
  benchmark.load.concurrency = concurrency_of(*load, "concurrency");
  benchmark.load.unknown = "";
}

// The mean over so many requests.
void read_tokens(const ResultFields& successes, std::initializer_list<const char*> names, double count,
                 const char* ours, BenchmarkResult& benchmark) {
  for (const char* name : names) {
    const auto lengths = successes.object(name);
    const auto mean = lengths ? lengths->number("mean") : std::nullopt;
    if (mean) return benchmark.metrics.emplace_back(ours, std::round(*mean * count)), void();
  }
}

}  // namespace

bool is_inference_perf_summary(const nlohmann::json& object) {
  return object.contains("load_summary") && object.contains("successes");
}

void read_inference_perf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  benchmark.tool = "inference_perf";
  benchmark.no_requests =
      "it has no length of each request: inference-perf writes these to per_request_lifecycle_metrics.json "
      "where report.request_lifecycle.per_request is true";
  read_load(result, benchmark);
  const auto failures = result.object("failures");
  if (const auto failed = failures ? failures->number("count") : std::nullopt)
    benchmark.metrics.emplace_back("failed", *failed);
  const auto successes = result.object("successes");
  if (!successes) return;
  const auto count = successes->number("count");
  if (count) {
    benchmark.metrics.emplace_back("completed", *count);
    read_tokens(*successes, {"prompt_len", "prompt_tokens"}, *count, "total_input_tokens", benchmark);
    read_tokens(*successes, {"output_len", "output_tokens"}, *count, "total_output_tokens", benchmark);
  }
  if (const auto throughput = successes->object("throughput"))
    for (const auto& [theirs, ours] : {std::pair("requests_per_sec", "request_throughput"),
                                       {"output_tokens_per_sec", "output_throughput"},
                                       {"total_tokens_per_sec", "total_token_throughput"}})
      if (const auto value = throughput->number(theirs)) benchmark.metrics.emplace_back(ours, *value);
  const auto latency = successes->object("latency");
  if (!latency) return;
  for (const auto& [theirs, ours] : {std::pair("time_to_first_token", "ttft"),
                                     {"time_per_output_token", "tpot"},
                                     {"inter_token_latency", "itl"},
                                     {"request_latency", "e2el"}})
    if (const auto time = latency->object(theirs))
      read_statistics(*time, inference_perf_statistics, ours, 1e3, benchmark);
}

bool is_inference_perf_request(const nlohmann::json& object) {
  return object.contains("start_time") && object.contains("end_time") && object.contains("info");
}

void read_inference_perf_request(const ResultFields& record, std::vector<BenchmarkResult>& results) {
  if (results.empty()) {
    results.emplace_back().tool = "inference_perf";
    results.back().load.unknown =
        "a file of requests does not say it: \"trace\" sends each when it was sent there";
  }
  BenchmarkResult& benchmark = results.back();
  const auto info = record.object("info");
  const auto request_metrics = info ? info->object("request_metrics") : std::nullopt;
  const auto text = request_metrics ? request_metrics->object("text") : std::nullopt;
  const auto response = info ? info->object("response_metrics") : std::nullopt;
  // Newer versions nest what older ones have in `info` itself.
  std::int64_t input = 0;
  if (info) input = tokens_of(text ? *text : *info, "input_tokens").value_or(0);
  if (record.has("error")) {
    ++benchmark.failed;
    benchmark.failed_input_tokens += input;
    return;
  }
  if (!info) return record.problem("info", "expected the tokens of the request");
  const ResultFields& answer = response ? *response : *info;
  const auto output = tokens_of(answer, "output_tokens");
  const auto sent = record.number("start_time"), end = record.number("end_time");
  if (input < 1) return info->problem("input_tokens", "expected the tokens of the prompt, 1 or more");
  if (!output) return info->problem("output_tokens", "expected the tokens of the answer");
  if (!sent) return record.problem("start_time", "expected when it was sent");
  BenchmarkedRequest request;
  request.input_tokens = input;
  request.output_tokens = *output;
  const std::vector<double> tokens = answer.numbers("output_token_times");
  const auto first = tokens.empty() ? std::nullopt : std::optional(tokens.front());
  set_times(request, *sent, first, tokens.empty() ? end : std::optional(tokens.back()));
  benchmark.requests.push_back(request);
}

}  // namespace weir
