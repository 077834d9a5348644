// The reader of load generators' results on any bytes whatever: results whose numbers can be, or a
// ConfigError. The first byte picks a good result. By the second one the other bytes stand alone, behind it,
// or are edits of it, two bytes each.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "test/fuzz/json_edits.h"
#include "test/workloads/benchmarks/benchmark_samples.h"
#include "workloads/benchmarks/benchmark_result.h"

using namespace weir;

namespace {

const std::vector<std::string> samples = {test::vllm_bench_result,       test::sglang_bench_results,
                                          test::aiperf_records,          test::aiperf_summary,
                                          test::guidellm_report,         test::inference_perf_summary,
                                          test::inference_perf_requests, test::llmperf_summary,
                                          test::llmperf_responses,       test::trtllm_report};

const std::vector<Json> values = {nullptr,
                                  true,
                                  0,
                                  1,
                                  -1,
                                  0.5,
                                  1e300,
                                  -1e300,
                                  1e-300,
                                  3.6e6,
                                  100000000,
                                  1000000000000000,
                                  9223372036854775807,
                                  18446744073709551615u,
                                  "",
                                  "x",
                                  "inf",
                                  "-inf",
                                  "NaN",
                                  "ns",
                                  "constant",
                                  "synchronous",
                                  "throughput",
                                  Json::array(),
                                  Json::array({0}),
                                  Json::array({1, 2, 3}),
                                  Json::object(),
                                  Json::array({Json::object()})};

// A sample that is no JSON, as lines are none and Python's Infinity is none, becomes a list of those that
// are.
Json document_of(const std::string& sample) {
  if (Json::accept(sample)) return parse_json(sample, "sample");
  Json lines = Json::array();
  for (std::size_t at = 0, end; (end = sample.find('\n', at)) != sample.npos; at = end + 1)
    if (const std::string line = sample.substr(at, end - at); Json::accept(line))
      lines.push_back(parse_json(line, "sample"));
  return lines;
}

bool is_time(const std::optional<double>& ms) {
  return !ms || (std::isfinite(*ms) && *ms >= 0);
}

void check(const BenchmarkResult& result) {
  bool good = !result.tool.empty() && result.failed >= 0 && result.failed_input_tokens >= 0;
  for (const auto& [name, value] : result.metrics) good = good && std::isfinite(value) && value >= 0;
  for (const BenchmarkedRequest& r : result.requests)
    good = good && r.input_tokens >= 1 && r.output_tokens >= 0 && is_time(r.ttft_ms) && is_time(r.tpot_ms) &&
           is_time(r.e2el_ms) && (!r.sent_s || std::isfinite(*r.sent_s));
  const BenchmarkLoad& load = result.load;
  if (load.unknown.empty())
    good = good && load.request_rate > 0 && load.burstiness > 0 && load.concurrency.value_or(1) >= 1;
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string text(data + 2, data + size);
  const std::size_t sample = data[0] % samples.size();
  if (data[1] % 3 == 1) text = samples[sample] + text;
  if (data[1] % 3 == 2) {
    static const std::vector<Json> documents = [] {
      std::vector<Json> all;
      for (const std::string& each : samples) all.push_back(document_of(each));
      return all;
    }();
    Json document = documents[sample];
    test::edit(document, {data + 2, size - 2}, values);
    text = document.dump();
  }
  try {
    const std::vector<BenchmarkResult> results = read_benchmarks(text, "t");
    if (results.empty()) std::abort();
    for (const BenchmarkResult& result : results) check(result);
    read_benchmark_trace(text, "t", results[0].tool, 0);
  } catch (const ConfigError& e) {
    if (e.problems().empty() || e.problems().size() > 11) std::abort();
  }
  return 0;
}
