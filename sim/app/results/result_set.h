#pragma once
// Results as compare, plot and report read them: of one run (summary.json) or of every point of a sweep
// (results.sqlite).
#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/results/varied.h"

namespace weir {

struct PointResult {
  std::int64_t index = 0;
  Varied varied;       // of a run: empty
  std::string status;  // "done" or "failed"
  std::string error;   // why it failed
  Json summary;        // summary.json, the resolved scenario in it; null if it failed
};

struct ResultSet {
  std::filesystem::path directory;
  std::string name;
  bool sweep = false;
  std::vector<std::string> varied;      // pointers
  std::vector<PointResult> points;      // by index; of a run: one
  std::size_t missing = 0;              // points of a sweep that have not ended: it was interrupted, or runs
  Json resolved = nullptr;              // the sweep file with its defaults; null of a run
  std::vector<std::string> notes = {};  // parts of a measured result that are left out
  bool measured = false;                // by a load generator, of a server (measured/measured.h)
};

// "3 of 8 points have no result yet: ..."; "" if every point has one.
std::string what_is_missing(const ResultSet& results);

// Throws ConfigError where the directory holds neither.
void require_results(const std::filesystem::path& directory);
ResultSet read_results(const std::filesystem::path& directory);

// The numbers of a summary by their names, in its order: duration, mean_ttft_ms, ... and of nested objects
// cost_dollars, kv_cache_peak, ...; of training jobs training_0_mean_step_ms, ... Other lists, texts and the
// scenario are left out, null is NaN.
std::vector<std::pair<std::string, double>> scalar_metrics(const Json& summary);

// Which rows of a run's requests.csv its metrics are about: a warm-up is not, nor is what a trace leaves out.
// Of a directory without the files that say so: all.
std::vector<char> measured_rows(const std::filesystem::path& directory, std::size_t rows);

}  // namespace weir
