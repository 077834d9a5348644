// Reports of GuideLLM, benchmarks.json: src/guidellm/benchmark/schemas and src/guidellm/schemas of
// vllm-project/guidellm (commit ee7a774, behind v0.7.3). A report holds a benchmark for each load that it
// tried.
#include <fmt/format.h>

#include <array>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

// The requests that succeeded have a distribution of each metric: {"successful": {"mean": 12.3,
// "percentiles": {"p50": 11.0, ...}}, ...}.
void read_distribution(const ResultFields& metrics, const char* theirs, const char* ours, double factor,
                       BenchmarkResult& benchmark) {
  const auto metric = metrics.object(theirs);
  const auto of = metric ? metric->object("successful") : std::nullopt;
  if (!of) return;
  constexpr std::array<std::array<const char*, 2>, 3> moments = {
      {{"mean", "mean"}, {"median", "median"}, {"std_dev", "std"}}};
  for (const auto& [of_them, of_us] : moments)
    if (const auto value = std::string_view(of_us) == "std" ? of->deviation(of_them) : of->number(of_them))
      benchmark.metrics.emplace_back(fmt::format("{}_{}_ms", of_us, ours), factor * *value);
  const auto percentiles = of->object("percentiles");
  for (const char* name : {"p50", "p90", "p95", "p99"})
    if (const auto value = percentiles ? percentiles->number(name) : std::nullopt)
      benchmark.metrics.emplace_back(fmt::format("{}_{}_ms", name, ours), factor * *value);
}

void read_mean(const ResultFields& metrics, const char* theirs, const char* ours,
               BenchmarkResult& benchmark) {
  const auto metric = metrics.object(theirs);
  const auto of = metric ? metric->object("successful") : std::nullopt;
  if (const auto value = of ? of->number("mean") : std::nullopt) benchmark.metrics.emplace_back(ours, *value);
}

void read_strategy(const ResultFields& result, BenchmarkResult& benchmark) {
  auto config = result.object("config");
  if (!config || !config->has("strategy")) config = result.object("args");  // until 0.3
  const auto strategy = config ? config->object("strategy") : std::nullopt;
  const std::string type = strategy ? strategy->text("type_") : "";
  BenchmarkLoad& load = benchmark.load;
  load.unknown = "";
  if (type == "synchronous") {
    load.concurrency = 1;
  } else if (type == "concurrent") {
    load.concurrency = concurrency_of(*strategy, "streams");
    if (!strategy->has("streams")) strategy->problem("streams", "expected 1 or more");
  } else if (type == "throughput") {
    load.concurrency = concurrency_of(*strategy, "max_concurrency");
  } else if (type == "constant" || type == "poisson") {
    if (type == "constant") load.burstiness = std::numeric_limits<double>::infinity();
    load.request_rate = strategy->number("rate").value_or(0);
    if (!(load.request_rate > 0)) strategy->problem("rate", "expected more than 0");
    load.concurrency = concurrency_of(*strategy, "max_concurrency");
  } else {
    load.unknown = type.empty() ? "its config has no strategy" : "its strategy is " + printable(type);
  }
}

// Newer reports have them below info/timings, older ones beside the tokens.
void read_times(const ResultFields& one, BenchmarkedRequest& request) {
  request.ttft_ms = one.number("time_to_first_token_ms");
  if (request.output_tokens > 1) request.tpot_ms = one.number("inter_token_latency_ms");
  if (const auto seconds = one.number("request_latency")) request.e2el_ms = 1e3 * *seconds;
  const auto info = one.object("info");
  const auto timings = info ? info->object("timings") : std::nullopt;
  if (timings && !request.sent_s) request.sent_s = timings->number("request_start");
}

void read_successful(const ResultFields& result, std::optional<std::int64_t> all,
                     BenchmarkResult& benchmark) {
  const auto requests = result.object("requests");
  for (const ResultFields& one : requests ? requests->objects("successful") : std::vector<ResultFields>{}) {
    BenchmarkedRequest request;
    const auto input = tokens_of(one, "prompt_tokens"), output = tokens_of(one, "output_tokens");
    if (!input || !output || *input < 1) {
      one.problem(input && *input > 0 ? "output_tokens" : "prompt_tokens", "expected the request's tokens");
      continue;
    }
    request.input_tokens = *input;
    request.output_tokens = *output;
    request.sent_s = one.number(one.has("request_start_time") ? "request_start_time" : "start_time");
    read_times(one, request);
    benchmark.requests.push_back(request);
  }
  const auto there = std::ssize(benchmark.requests);
  if (there == 0)
    benchmark.no_requests = "it has no requests.successful: GuideLLM writes them unless told to keep none";
  else if (all && *all > there)
    benchmark.no_requests = fmt::format(
        "it has {} of its {} requests: GuideLLM keeps all unless a sample size is given", there, *all);
  if (!benchmark.no_requests.empty()) benchmark.requests.clear();
}

void read_one(const ResultFields& result, std::vector<BenchmarkResult>& results) {
  BenchmarkResult& benchmark = results.emplace_back();
  benchmark.tool = "guidellm";
  std::optional<std::int64_t> all;
  if (const auto metrics = result.object("metrics")) {
    if (const auto totals = metrics->object("request_totals")) all = totals->count("successful");
    if (all) benchmark.metrics.emplace_back("completed", static_cast<double>(*all));
    read_mean(*metrics, "requests_per_second", "request_throughput", benchmark);
    read_mean(*metrics, "output_tokens_per_second", "output_throughput", benchmark);
    read_distribution(*metrics, "time_to_first_token_ms", "ttft", 1, benchmark);
    // Behind the first token, as vLLM's TPOT; its time_per_output_token_ms counts the first one in.
    read_distribution(*metrics, "inter_token_latency_ms", "tpot", 1, benchmark);
    read_distribution(*metrics, "request_latency", "e2el", 1e3, benchmark);
  }
  read_strategy(result, benchmark);
  read_successful(result, all, benchmark);
}

}  // namespace

bool is_guidellm_report(const nlohmann::json& object) {
  const auto list = object.find("benchmarks");
  return list != object.end() && list->is_array() &&
         (object.contains("metadata") ||
          (!list->empty() && list->front().is_object() && list->front().contains("metrics")));
}

void read_guidellm_report(const ResultFields& report, std::vector<BenchmarkResult>& results) {
  for (const ResultFields& result : report.objects("benchmarks")) read_one(result, results);
}

}  // namespace weir
