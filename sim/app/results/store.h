#pragma once
// results.sqlite of a sweep: one committed row a point, so that whatever kills the sweep, nothing finished is
// lost. Written by one process (the runner; rank 0 under MPI), read by result_set.cpp.
//
//   sweep   key, value     name; varied (JSON list of pointers); resolved (the sweep file with its defaults);
//                          points (their number); without (how many of them need no result, if any);
//                          version; and SweepRecord::identity
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
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"
#include "sim/app/results/result_set.h"

namespace weir {

struct EndedPoint {
  std::string error;    // "" if it is done
  std::string summary;  // summary.json as text; "" if it failed
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

// A sweep as its store knows it.
struct SweepRecord {
  std::string name;
  std::vector<std::string> varied;  // pointers
  std::size_t points = 0;
  Json resolved;  // the sweep file with its defaults
  // Results depend on these, each under a name for people ("scenario", "file trace.csv"): where one differs,
  // results are another sweep's.
  std::map<std::string, std::string> identity;
};

class ResultStore {
 public:
  // A new one, without a point yet. A file by this name must not exist.
  static void create(const std::filesystem::path& database, const SweepRecord& sweep);

  // Opens one to write. Throws ConfigError unless it is the same sweep's by the same version; what results
  // do not depend on (name, limits) becomes this sweep's.
  ResultStore(const std::filesystem::path& database, const SweepRecord& sweep);
  ~ResultStore();  // leaves a single file that can be read wherever it is copied to

  std::vector<bool> done() const;  // [index of a point]
  // Replaces; committed when it returns. The scenario is kept of a point that failed.
  void put(const Point& point, const EndedPoint& result, const Json& scenario);
  // So many of the points need no result: a plan that found better ones does not run them.
  void do_without(std::size_t points);
  // Copies these columns of points that are done already, which only all points together give. All or none.
  void add_columns(const std::vector<PointResult>& points, const std::vector<std::string>& columns);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::chrono::steady_clock::time_point synced_;
};

ResultSet read_store(const std::filesystem::path& database);
// The same with summaries that hold nothing but these metrics: a hundred thousand whole ones take gigabytes.
ResultSet read_store(const std::filesystem::path& database, const std::vector<std::string>& metrics);
// One after the other, in their order.
void each_point(const std::filesystem::path& database, const std::function<void(PointResult)>& take);

// One row a point, in their order: a column a varied pointer, status, then the scalar metrics. The same bytes
// for the same sweep, whatever it was run on.
void write_results_csv(const std::filesystem::path& file, const std::filesystem::path& database,
                       const std::vector<std::string>& varied);

}  // namespace weir
