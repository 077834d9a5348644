#pragma once
// results.sqlite of a sweep: one committed row a point, so that whatever kills the sweep, nothing finished is
// lost. Written by one process (the runner; rank 0 under MPI), read by result_set.cpp.
//
//   sweep  key TEXT PRIMARY KEY, value TEXT          name, resolved (the file with its defaults), varied
//   (JSON list) points point INTEGER PRIMARY KEY, status TEXT, error TEXT, varied TEXT (JSON object), seed
//   INTEGER,
//          version TEXT, summary TEXT (summary.json; NULL if it failed)
//   costs  point INTEGER PRIMARY KEY, wall_s REAL, cpu_s REAL, peak_rss_bytes INTEGER    differ between equal
//   runs
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/app/results/result_set.h"

namespace weir {

struct PointCosts {
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

class ResultStore {
 public:
  // Empty if the directory has none, or if `resume` is false; a resumed one must be of the same sweep
  // (ConfigError).
  ResultStore(const std::filesystem::path& directory, const Sweep& sweep, bool resume);
  ~ResultStore();
  std::vector<std::int64_t> done() const;                        // points that ended with status "done"
  void put(const PointResult& result, const PointCosts& costs);  // replaces; committed when it returns
  void begin();                                                  // between these, put() commits together
  void commit();

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

ResultSet read_store(const std::filesystem::path& database);
// One row a point, in their order: index, a column a varied pointer, status, error, then the scalar metrics.
void write_results_csv(const std::filesystem::path& file, const ResultSet& results);

}  // namespace weir
