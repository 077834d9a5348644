// Reports of trtllm-bench (tensorrt_llm/bench/dataclasses/reporting.py of NVIDIA/TensorRT-LLM, commit
// 0249976).
#include <array>
#include <cmath>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

constexpr std::array<Statistic, 6> trtllm_statistics = {
    {{"average", "mean"}, {"p50", "median"}, {"p50", "p50"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}}};

void read_performance(const ResultFields& performance, BenchmarkResult& benchmark) {
  if (const auto ms = performance.number("total_latency_ms"))
    benchmark.metrics.emplace_back("duration", 1e-3 * *ms);
  for (const auto& [theirs, ours] : {std::pair("request_throughput_req_s", "request_throughput"),
                                     {"system_output_throughput_tok_s", "output_throughput"},
                                     {"system_total_throughput_tok_s", "total_token_throughput"}})
    if (const auto value = performance.number(theirs)) benchmark.metrics.emplace_back(ours, *value);
  if (const auto latency = performance.object("request_latency_percentiles_ms"))
    read_statistics(*latency, trtllm_statistics, "e2el", 1, benchmark);
  else if (const auto mean = performance.number("avg_request_latency_ms"))
    benchmark.metrics.emplace_back("mean_e2el_ms", *mean);
}

}  // namespace

bool is_trtllm_report(const nlohmann::json& object) {
  return object.contains("request_info") && object.contains("performance") && object.contains("world_info");
}

void read_trtllm_report(const ResultFields& report, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  benchmark.tool = "trtllm_bench";
  benchmark.no_requests = "it has no length of each request";
  benchmark.load.unknown = "trtllm-bench does not write how many requests it keeps in flight (--concurrency)";
  if (const auto engine = report.object("engine")) benchmark.of_model = engine->text("model");
  const auto requests = report.object("request_info");
  const auto count = requests ? requests->number("num_requests") : std::nullopt;
  if (count) {
    benchmark.metrics.emplace_back("completed", *count);
    for (const auto& [theirs, ours] :
         {std::pair("avg_input_length", "total_input_tokens"), {"avg_output_length", "total_output_tokens"}})
      if (const auto mean = requests->number(theirs))
        benchmark.metrics.emplace_back(ours, std::round(*mean * *count));
  }
  if (const auto performance = report.object("performance")) read_performance(*performance, benchmark);
  const auto streaming = report.object("streaming_metrics");
  if (!streaming) return;
  for (const auto& [list, mean, ours] : {std::array{"ttft_percentiles", "avg_ttft_ms", "ttft"},
                                         std::array{"tpot_percentiles", "avg_tpot_ms", "tpot"}}) {
    streaming->has(mean);  // that of the list, again
    if (const auto times = streaming->object(list))
      read_statistics(*times, trtllm_statistics, ours, 1, benchmark);
    else if (const auto value = streaming->number(mean))
      benchmark.metrics.emplace_back(std::string("mean_") + ours + "_ms", *value);
  }
}

}  // namespace weir
