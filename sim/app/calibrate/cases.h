#pragma once
// Measurements of one server for weir calibrate: each is a load that the scenario's server is simulated
// under, and times to be met.
#include <string>
#include <vector>

#include "sim/app/document.h"
#include "sim/app/output/metrics.h"
#include "workloads/benchmarks/benchmark_result.h"

namespace weir {

enum class TimeOf { output_token, first_token };  // a mean of TPOT, or of TTFT

// The mean over requests [first, end) in the order in which they were sent; of all: over all that count.
struct Observation {
  TimeOf what;
  bool of_all = true;
  std::size_t first = 0, end = 0;
  double ms = 0, weight = 1;     // measured; its part of the case's whole
  std::vector<char> timed = {};  // which of [first, end) were measured
};

struct CalibrationCase {
  std::string name;  // the file's, with the number of the result where it holds several
  std::string tool;
  std::string file;  // of the scenario, where its relative paths start
  Json scenario;     // of the server, under this load
  std::vector<Observation> observations;
  std::vector<std::string> notes;  // what was measured and is left out

  double measured_ms(TimeOf what) const;  // over all; NaN where it was not measured
  const Json& load() const { return scenario["workload"]["arrivals"]; }
};

bool one_load(const std::vector<CalibrationCase>& cases);  // all have the same

// The server is that of the one scenario, or each file's is that of the scenario in its place (the same
// server under other limits). Throws one ConfigError with all that is wrong, file by file.
std::vector<CalibrationCase> read_cases(const std::vector<std::string>& files,
                                        const std::vector<Document>& scenarios);

// NaN where no request completed.
double simulated_ms(const Observation& observation, const RunResult& result, const Metrics& metrics);

}  // namespace weir
