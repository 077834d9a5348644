#pragma once
// Directories of results as weir run and weir sweep leave them, with numbers of a test's choice.
#include <fstream>

#include "sim/app/results/store.h"
#include "test/app/scratch_directory.h"

namespace weir::test {

inline Json made_summary(const Json& scenario, const Json& metrics) {
  Json summary = {{"name", scenario.value("name", "made")}, {"request_throughput", 1}, {"completed", 10}};
  summary.update(metrics);
  summary["scenario"] = scenario;
  return summary;
}

inline void make_run(const std::filesystem::path& directory, const Json& summary) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "summary.json") << summary.dump();
}

struct MadePoint {
  Varied varied;
  Json summary;  // null: it failed
};

// `missing` more points have not ended.
inline void make_sweep(const std::filesystem::path& directory, const std::vector<MadePoint>& points,
                       std::size_t missing = 0) {
  std::filesystem::create_directories(directory);
  SweepRecord sweep;
  sweep.name = "made";
  sweep.points = points.size() + missing;
  for (const auto& [pointer, value] : points.at(0).varied) sweep.varied.push_back(pointer);
  ResultStore::create(directory / "results.sqlite", sweep);
  ResultStore store(directory / "results.sqlite", sweep);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EndedPoint ended;
    if (points[i].summary.is_null())
      ended.error = "out of memory";
    else
      ended.summary = points[i].summary.dump();
    store.put({static_cast<std::int64_t>(i), points[i].varied}, ended, Json::object());
  }
}

}  // namespace weir::test
