#pragma once
// Metrics of a recorded run's replays, in the record's own terms.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/app/reproduce/reproduce.h"
#include "sim/studies/validation/sessions/recorded.h"

namespace weir {

struct ReplayedRun {
  double computed_share = 0, ttft_mean_ms = 0, late_ttft_median_ms = 0, itl_mean_ms = 0;
  double preemptions = 0;
  std::string error;  // why there is none of that
};

// Requests before this are left out of the median: servers are still compiling kernels.
constexpr double settled_s = 65;

// The mean over its requests, and the median of those from settled_s on.
double mean_ms(const RecordedRun& run, const std::function<double(std::size_t)>& of);
double late_median_ms(const RecordedRun& run, const std::function<double(std::size_t)>& of);

// Each run over so many seeds, in children; the mean of each figure. Leaves RUN_SEED.csv and .json in the
// folder.
std::vector<ReplayedRun> replay(const std::vector<RecordedRun>& runs, std::uint64_t seeds,
                                const std::filesystem::path& folder, const ReproduceOptions& options);

}  // namespace weir
