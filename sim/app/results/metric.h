#pragma once
// Metrics by their names: those of summary.json and a few made of them, with what people call them.
#include <string>
#include <vector>

#include "sim/app/results/result_set.h"

namespace weir {

// Also tokens_per_s_per_device, tokens_per_s_per_mm2 (of die), tokens_per_s_per_user (1000 /
// median_tpot_ms) and joules_per_output_token. NaN where the summary does not define it.
double metric_of(const Json& summary, const std::string& name);
// Its points train and serve nobody: they have training_0_samples_per_s, and no output_throughput.
bool trains(const ResultSet& results);
std::vector<std::string> metric_names(const ResultSet& results);  // of the first point that is done
std::string metric_title(const std::string& name);                // "p99 TTFT (ms)"
std::string metric_column(const std::string& name);               // "TTFT p99 ms": of narrow tables
std::string with_dollars(const std::string& name, const std::string& number);  // $0.57 of what counts dollars
bool less_is_better(const std::string& name);
std::vector<std::string> ranked_metrics();  // those that a sweep may search the best of

// Which points no other beats: better in one number and not worse in any. Lower is better; a point with a
// NaN is none.
std::vector<bool> non_dominated(const std::vector<std::vector<double>>& points);

}  // namespace weir
