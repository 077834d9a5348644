#include "sim/app/measured/measured.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/metrics.h"

namespace weir {
namespace {

void put(Json& summary, const std::string& what, std::vector<double> values) {
  if (values.empty()) return;
  const Distribution d = distribution_of(values);
  for (const auto& [statistic, value] : {std::pair("mean", d.mean),
                                         {"median", d.median},
                                         {"std", d.std},
                                         {"p50", d.p50},
                                         {"p90", d.p90},
                                         {"p95", d.p95},
                                         {"p99", d.p99}})
    summary[fmt::format("{}_{}_ms", statistic, what)] = value;
}

// From the first one sent to the last one's end.
std::optional<double> seconds_of(const std::vector<BenchmarkedRequest>& requests) {
  double first = 1e300, last = -1e300;
  for (const BenchmarkedRequest& request : requests) {
    if (!request.sent_s || !request.e2el_ms) return {};
    first = std::min(first, *request.sent_s);
    last = std::max(last, *request.sent_s + 1e-3 * *request.e2el_ms);
  }
  return last > first ? std::optional(last - first) : std::nullopt;
}

Json sum_up(const std::vector<BenchmarkedRequest>& requests) {
  Json summary = Json::object();
  double input = 0, output = 0;
  std::vector<double> ttft, tpot, e2el;
  for (const BenchmarkedRequest& request : requests) {
    input += static_cast<double>(request.input_tokens);
    output += static_cast<double>(request.output_tokens);
    if (request.ttft_ms) ttft.push_back(*request.ttft_ms);
    if (request.tpot_ms) tpot.push_back(*request.tpot_ms);
    if (request.e2el_ms) e2el.push_back(*request.e2el_ms);
  }
  const auto duration = seconds_of(requests);
  if (duration) summary["duration"] = *duration;
  summary["completed"] = requests.size();
  summary["total_input_tokens"] = input;
  summary["total_output_tokens"] = output;
  if (duration) {
    summary["request_throughput"] = static_cast<double>(requests.size()) / *duration;
    summary["output_throughput"] = output / *duration;
    summary["total_token_throughput"] = (input + output) / *duration;
  }
  put(summary, "ttft", std::move(ttft));
  put(summary, "tpot", std::move(tpot));
  put(summary, "e2el", std::move(e2el));
  return summary;
}

}  // namespace

Json measured_summary(const BenchmarkResult& benchmark) {
  if (benchmark.metrics.empty()) return sum_up(benchmark.requests);
  Json summary = Json::object();
  for (const auto& [name, value] : benchmark.metrics) summary[name] = value;
  if (!benchmark.some_ttft_left_out()) return summary;
  // The file's own statistics may count a first token that never came as one at 0 ms.
  const Json counted = sum_up(benchmark.requests);
  for (auto& [name, value] : summary.items())
    if (name.ends_with("_ttft_ms") && counted.contains(name)) value = counted[name];
  return summary;
}

std::vector<std::string> measured_notes(const BenchmarkResult& benchmark) {
  std::vector<std::string> notes = benchmark.notes;
  if (benchmark.failed > 0)
    notes.push_back(fmt::format("{} requests that failed are left out ({} prompt tokens)", benchmark.failed,
                                benchmark.failed_input_tokens));
  if (!benchmark.some_ttft_left_out()) return notes;
  std::size_t untimed = 0;
  std::int64_t tokens = 0;
  for (const BenchmarkedRequest& request : benchmark.requests)
    if (!request.ttft_ms) {
      ++untimed;
      tokens += request.input_tokens;
    }
  notes.push_back(fmt::format(
      "TTFT is over the {} of {} requests whose first token came: {} others, of {} prompt tokens, have "
      "none",
      benchmark.requests.size() - untimed, benchmark.requests.size(), untimed, tokens));
  return notes;
}

ResultSet read_measured(const std::filesystem::path& file, std::optional<std::int64_t> result) {
  const std::vector<BenchmarkResult> all = read_benchmarks(read_text_file(file), file.string());
  const BenchmarkResult& benchmark = the_one(all, result, "--result", file.string());
  ResultSet measured;
  measured.directory = file;
  measured.measured = true;
  measured.name = benchmark.tool + (benchmark.of_model.empty() ? "" : ", " + benchmark.of_model);
  measured.points.emplace_back();
  measured.points.back().status = "done";
  measured.points.back().summary = measured_summary(benchmark);
  measured.notes = measured_notes(benchmark);
  return measured;
}

}  // namespace weir
