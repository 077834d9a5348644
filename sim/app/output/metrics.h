#pragma once
// The numbers of summary.json and of the terminal table, computed once from a finished run. Names and
// meanings are those of vLLM's serving benchmark (vllm/benchmarks/serve.py, BenchmarkMetrics): only completed
// requests count, percentiles are np.percentile's linear interpolation, std is np.std (population), goodput
// counts requests that meet every SLO.
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/serving/record/results.h"

namespace weir {

struct Distribution {  // of nothing: count 0, every number NaN
  std::int64_t count = 0;
  double mean, median, std, p50, p90, p95, p99;
};

// Reorders the values instead of copying them: a million requests must fit the memory they are in.
Distribution distribution_of(std::vector<double>& values);
double percentile(std::vector<double>& values, double p);  // p in [0, 100]; values not empty; reorders them

struct ClassMetrics {  // of the requests of one priority
  std::int32_t priority;
  std::int64_t completed;
  Distribution ttft_ms, tpot_ms;
};

struct SessionMetrics {
  std::int64_t count = 0;            // of which every request is measured
  Distribution time_to_complete_ms;  // of those that are complete: first arrival to last token
};

struct Metrics {
  std::int64_t computed_tokens() const;  // of the prompts: neither found nor loaded

  std::int64_t requests = 0, completed = 0, rejected = 0, lost = 0,
               unfinished = 0;                       // all but those that are not measured
  std::int64_t input_tokens = 0, output_tokens = 0;  // of the completed ones
  std::int64_t found_tokens = 0;          // of their prompts, in the KV cache when they were scheduled first
  std::vector<std::int64_t> tier_tokens;  // likewise, in each tier behind it
  Seconds duration;                       // first arrival kept to last token
  double request_throughput = 0, output_throughput = 0, total_throughput = 0;  // per second
  std::optional<double> goodput;  // requests per second; no SLO: none
  Distribution ttft_ms, tpot_ms, itl_ms, e2el_ms;
  std::vector<ClassMetrics> classes;       // the most urgent first; none where all requests have one priority
  std::optional<SessionMetrics> sessions;  // none where no request waits for another
  Joules energy;
  std::string energy_note;                        // what is known to be wrong with that of a device
  double cost_dollars = 0, dollars_per_hour = 0;  // of all devices that a replica has
  double device_hours = 0;
};

Metrics measure(const RunResult& result, const Slo& slo);

// Warm-ups are not, nor is what a trace says is not.
inline bool is_measured(const RequestRecord& record) {
  return record.request.measured;
}

// Times of one request, as requests.csv and the metrics both mean them. Defined for completed requests.
Seconds time_to_first_token(const RequestRecord& record);
Seconds end_to_end(const RequestRecord& record);
std::optional<Seconds> time_per_output_token(const RequestRecord& record);  // none for a single output token

}  // namespace weir
