#pragma once
// A sweep is its file, read and expanded: the points to run, in order. sweep_file.cpp reads it
// (checked, every problem with its pointer), points.cpp expands it; the runner (runner.h) runs points and
// knows nothing of how they came about.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/app/results/store.h"
#include "sim/app/sweep/search/searches.h"
#include "sim/core/params.h"

namespace weir {

struct LeftOut {  // a layout that "layouts": "all" does not run
  std::string what, why;
};

struct PointLimits {
  std::optional<double> time_s;              // wall clock of one point
  std::optional<std::int64_t> memory_bytes;  // address space of one point's process
};

struct Sweep {
  std::string name;
  std::filesystem::path file;             // the sweep's own
  std::filesystem::path scenario_file;    // errors and relative paths of points
  std::set<std::filesystem::path> files;  // that points read beside their scenario: traces, profiles, ...
  Json scenario;                          // what points vary
  Varied fixed;                           // set in every point alike, beside what varies
  std::vector<std::string> varied;        // pointers, one column of results.csv each
  std::vector<Point> points;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;  // on points' scenarios, each once
  PointLimits limits;
  Searches searches;  // what run_point() does at each point, and conclude() after the last one
  Json resolved;      // the file with its defaults
};

// Whole, values set; relative paths are relative to scenario_file. Made anew each time: a hundred thousand of
// them would take half a gigabyte.
Json scenario_of(const Sweep& sweep, const Point& point);

// Throws ConfigErrors with every problem of the file and of the points' scenarios.
Sweep read_sweep(const std::filesystem::path& file);
Sweep read_sweep_document(const Json& document, const std::filesystem::path& file);

// identity.cpp: results depend on the points' scenarios, the searches, and what is in the files they read.
SweepRecord record_of(const Sweep& sweep);
std::string fingerprint(const Sweep& sweep);  // of all of these, and of what points vary, as one text

bool is_sweep(
    const Json& document);  // has a "scenario", "vary", "zip", "layouts" or "seeds"; a scenario has none
Json sweep_schema();

}  // namespace weir
