#pragma once
// A benchmark's result as the results of a run, for weir compare: its numbers stand under their names in
// summary.json, and there is no scenario.
#include "sim/app/results/result_set.h"
#include "workloads/benchmarks/benchmark_result.h"

namespace weir {

// What a load generator wrote of a server, or of its requests: what these are is summed up as a run's are.
Json measured_summary(const BenchmarkResult& benchmark);

// The one result of a file, or the given one of several. Throws ConfigError.
ResultSet read_measured(const std::filesystem::path& file, std::optional<std::int64_t> result);

}  // namespace weir
