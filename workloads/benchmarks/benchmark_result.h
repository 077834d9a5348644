#pragma once
// A load generator's record of a server: which requests it sent and how, and what came of them. As a workload
// these requests are played under that load; `weir compare` puts the numbers beside a run's.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/benchmark_load.h"
#include "workloads/traces/trace.h"

namespace weir {

struct BenchmarkedRequest {
  std::int64_t input_tokens = 0, output_tokens = 0;  // an answer may be empty
  std::optional<double> sent_s;                      // on the generator's clock
  std::optional<double> ttft_ms, tpot_ms, e2el_ms;   // as its client saw them
};

struct BenchmarkResult {
  std::string tool;      // "vllm bench", ...
  std::string of_model;  // as it names it, or ""
  std::vector<BenchmarkedRequest> requests;
  std::string no_requests;  // why their lengths are not known, and what would write them; "" if they are
  std::int64_t failed = 0;  // and are not among these
  std::int64_t failed_input_tokens = 0;
  std::vector<std::string> notes;  // what of it is not read, or left out
  BenchmarkLoad load;
  std::vector<std::pair<std::string, double>> metrics;  // by their names in summary.json; may be empty

  std::int64_t empty_answers() const;
  // A first token that never came is 0 ms to some generators; such requests have no TTFT here.
  bool some_ttft_left_out() const;
};

// All results of a file, at least one. Any bytes whatever give them or a ConfigError.
std::vector<BenchmarkResult> read_benchmarks(std::string_view text, const std::string& file);

// The one of them, or the given one, counted from 0; `key` names what says which. Throws ConfigError.
const BenchmarkResult& the_one(const std::vector<BenchmarkResult>& results, std::optional<std::int64_t> given,
                               std::string_view key, const std::string& file);

// Requests and load of the one result of a file, or of the given one of several (counted from 0), for
// requests.kind vllm_bench and its like. `tool` is what the scenario says it is.
Trace read_benchmark_trace(std::string_view text, const std::string& file, std::string_view tool,
                           std::optional<std::int64_t> result);

}  // namespace weir
