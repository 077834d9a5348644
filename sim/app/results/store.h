#pragma once
// results.sqlite of a sweep: one committed row a point, so that whatever kills the sweep, nothing finished is
// lost. Written by one process (the runner; rank 0 under MPI), read by result_set.cpp.
//
//   sweep   key, value     name; varied (JSON list of pointers); resolved (the sweep file with its defaults);
//                          points (their number); fingerprint (of all their scenarios); version
//   points  point, status ("done", "failed"), error, varied (JSON object), version, summary (summary.json;
//           NULL if it failed), given (the point's scenario as the sweep makes it; NULL if it is done), and
//           seed and scenario (resolved; of a failed point: given), which are computed from these
//   costs   point, wall_s, cpu_s, peak_rss_bytes     apart, because they differ between equal runs
//
// Write-ahead log without a sync a commit: a commit is one write (tens of microseconds) and survives whatever
// happens to the process. It is synced once a second, so that a power failure costs the last second.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/app/results/result_set.h"

namespace weir {

struct EndedPoint {
  std::string error;    // "" if it is done
  std::string summary;  // summary.json as text; "" if it failed
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

class ResultStore {
 public:
  // A new one, without a point yet. A file by this name must not exist.
  static void create(const std::filesystem::path& database, const Sweep& sweep);

  // Opens one to write. Throws ConfigError unless it was created for the same sweep by the same version.
  ResultStore(const std::filesystem::path& database, const Sweep& sweep);
  ~ResultStore();  // leaves a single file that can be read wherever it is copied to

  std::vector<bool> done() const;                          // [index of a point]
  void put(const Point& point, const EndedPoint& result);  // replaces; committed when it returns
  // Of points that are done already: columns that only all points together give. All or none.
  void update_summaries(const std::vector<PointResult>& points);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::chrono::steady_clock::time_point synced_;
};

// Of all the points' scenarios: tells a sweep from the one its author has changed meanwhile.
std::string fingerprint(const Sweep& sweep);

bool is_store(const std::filesystem::path& database);  // looks at the file's head only
ResultSet read_store(const std::filesystem::path& database);

// One row a point, in their order: a column a varied pointer, status, then the scalar metrics. The same bytes
// for the same sweep, whatever it was run on.
void write_results_csv(const std::filesystem::path& file, const ResultSet& results);

}  // namespace weir
