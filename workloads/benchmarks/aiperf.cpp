// Results of AIPerf and genai-perf (aiperf/common/models/export_models.py and
// docs/tutorials/working-with-profile-exports.md of ai-dynamo/aiperf, commit db4f639; the former is made
// after genai-perf's): profile_export_aiperf.json with statistics and the configuration, profile_export.jsonl
// with a record a request.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

// {"unit": "ms", "avg": 12.3, "p50": 11.0, ...}; times in milliseconds whatever the unit.
double milliseconds(const ResultFields& metric) {
  const std::string unit = metric.text("unit");
  for (const auto& [name, factor] :
       {std::pair("ms", 1.), {"ns", 1e-6}, {"us", 1e-3}, {"s", 1e3}, {"sec", 1e3}})
    if (unit == name) return factor;
  metric.problem("unit", "expected ms, us, ns or s, got " + printable(unit));
  return 1;
}

void read_latency(const ResultFields& result, const char* theirs, const char* ours,
                  BenchmarkResult& benchmark) {
  const auto metric = result.object(theirs);
  if (!metric) return;
  constexpr std::array<std::array<const char*, 2>, 7> statistics = {{{"avg", "mean"},
                                                                     {"p50", "median"},
                                                                     {"std", "std"},
                                                                     {"p50", "p50"},
                                                                     {"p90", "p90"},
                                                                     {"p95", "p95"},
                                                                     {"p99", "p99"}}};
  const double factor = milliseconds(*metric);
  for (const auto& [of_them, of_us] : statistics)
    if (const auto value =
            std::string_view(of_us) == "std" ? metric->deviation(of_them) : metric->number(of_them))
      benchmark.metrics.emplace_back(fmt::format("{}_{}_ms", of_us, ours), factor * *value);
}

void read_total(const ResultFields& result, const char* theirs, const char* ours,
                BenchmarkResult& benchmark) {
  const auto metric = result.object(theirs);
  if (const auto value = metric ? metric->number("avg") : std::nullopt)
    benchmark.metrics.emplace_back(ours, *value);
}

// input_config.loadgen; genai-perf's is input_config.perf_analyzer.stimulus.
void read_generator(const ResultFields& result, BenchmarkResult& benchmark) {
  const auto config = result.object("input_config");
  auto generator = config ? config->object("loadgen") : std::nullopt;
  if (const auto analyzer = config && !generator ? config->object("perf_analyzer") : std::nullopt)
    generator = analyzer->object("stimulus");
  BenchmarkLoad& load = benchmark.load;
  const bool has_rate = generator && generator->has("request_rate");
  if (generator) load.concurrency = concurrency_of(*generator, "concurrency");
  load.unknown =
      load.concurrency || has_rate ? "" : "its input_config says neither a concurrency nor a request_rate";
  if (!has_rate) return;
  load.request_rate = generator->number("request_rate").value_or(load.request_rate);
  if (!(load.request_rate > 0)) generator->problem("request_rate", "expected more than 0");
  // Defaults are not written: AIPerf's is poisson (config_defaults.py, LoadGeneratorDefaults). genai-perf
  // does not say.
  std::string mode = generator->text("request_rate_mode");
  if (mode.empty() && config->has("loadgen")) mode = "poisson";
  if (mode == "constant")
    load.burstiness = std::numeric_limits<double>::infinity();
  else if (mode != "poisson")
    load.unknown = mode.empty() ? "it does not say how requests at its rate were spaced"
                                : "its request_rate_mode is " + printable(mode);
}

std::optional<double> value_of(const ResultFields& metrics, const char* name) {
  const auto metric = metrics.object(name);
  return metric ? metric->number("value") : std::nullopt;
}

std::optional<double> milliseconds_of(const ResultFields& metrics, const char* name) {
  const auto metric = metrics.object(name);
  const auto value = metric ? metric->number("value") : std::nullopt;
  return value ? std::optional(milliseconds(*metric) * *value) : std::nullopt;
}

}  // namespace

bool is_aiperf_summary(const nlohmann::json& object) {
  const auto latency = object.find("request_latency");
  return object.contains("input_config") || (latency != object.end() && latency->is_object());
}

void read_aiperf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  benchmark.tool = "aiperf";
  read_total(result, "benchmark_duration", "duration", benchmark);
  read_total(result, "request_count", "completed", benchmark);
  read_total(result, "error_request_count", "failed", benchmark);
  read_total(result, "total_isl", "total_input_tokens", benchmark);
  read_total(result, "total_osl", "total_output_tokens", benchmark);
  read_total(result, "request_throughput", "request_throughput", benchmark);
  read_total(result, "output_token_throughput", "output_throughput", benchmark);
  read_latency(result, "time_to_first_token", "ttft", benchmark);
  // It is the time of a request behind its first token over the tokens behind it, which vLLM calls TPOT.
  read_latency(result, "inter_token_latency", "tpot", benchmark);
  read_latency(result, "request_latency", "e2el", benchmark);
  read_generator(result, benchmark);
  benchmark.no_requests =
      "it has no length of each request: AIPerf writes these to profile_export.jsonl beside it";
}

bool is_aiperf_record(const nlohmann::json& object) {
  const auto metadata = object.find("metadata"), metrics = object.find("metrics");
  return metadata != object.end() && metadata->is_object() && metadata->contains("request_start_ns") &&
         metrics != object.end();
}

void read_aiperf_record(const ResultFields& record, std::vector<BenchmarkResult>& results) {
  if (results.empty()) {
    results.emplace_back().tool = "aiperf";
    results.back().load.unknown =
        "a file of records does not say it: profile_export_aiperf.json beside it does, and \"trace\" sends "
        "each request when it was sent there";
  }
  BenchmarkResult& benchmark = results.back();
  const auto metrics = record.object("metrics"), metadata = record.object("metadata");
  if (!metrics || !metadata) return;
  if (const std::string phase = metadata->text("benchmark_phase"); !phase.empty() && phase != "profiling")
    return;  // a warm-up is no part of its statistics either
  if (record.has("error")) {
    ++benchmark.failed;
    benchmark.failed_input_tokens += static_cast<std::int64_t>(std::clamp<double>(
        value_of(*metrics, "input_sequence_length").value_or(value_of(*metrics, "error_isl").value_or(0)), 0,
        max_tokens));
    return;
  }
  BenchmarkedRequest request;
  for (const auto& [name, to] : {std::pair("input_sequence_length", &request.input_tokens),
                                 {"output_sequence_length", &request.output_tokens}}) {
    const auto value = value_of(*metrics, name);
    const bool answer = to == &request.output_tokens;
    if (!value || *value < (answer ? 0 : 1) || *value > max_tokens) {
      metrics->problem(name, answer ? "expected the tokens of the answer, in value"
                                    : "expected the tokens of the prompt, 1 or more, in value");
      return;
    }
    *to = static_cast<std::int64_t>(*value);
  }
  if (const auto sent_ns = metadata->number("request_start_ns")) request.sent_s = 1e-9 * *sent_ns;
  request.ttft_ms = milliseconds_of(*metrics, "time_to_first_token");
  request.tpot_ms = milliseconds_of(*metrics, "inter_token_latency");
  request.e2el_ms = milliseconds_of(*metrics, "request_latency");
  benchmark.requests.push_back(request);
}

}  // namespace weir
