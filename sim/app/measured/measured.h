#pragma once
// A benchmark's result as the results of a run, for commands that hold a simulation to it: its numbers stand
// under their names in summary.json, and there is no scenario.
#include "sim/app/results/result_set.h"
#include "workloads/benchmarks/benchmark_result.h"

namespace weir {

// A load generator's own numbers, or where it wrote requests alone, these summed up as a run's are.
Json measured_summary(const BenchmarkResult& benchmark);

// Notes on parts of a result that are not read or left out, in requests and tokens.
std::vector<std::string> measured_notes(const BenchmarkResult& benchmark);

// The one result of a file, or the given one of several. Throws ConfigError.
ResultSet read_measured(const std::filesystem::path& file, std::optional<std::int64_t> result);

}  // namespace weir
