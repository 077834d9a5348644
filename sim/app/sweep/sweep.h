#pragma once
// What a sweep file says, once it is read and expanded: the points to run, in order. sweep_file.cpp reads it
// (checked, every problem with its pointer), points.cpp expands it; the runner (runner.h) runs points and
// knows nothing of how they came about.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/sweep/search/search_spec.h"
#include "sim/core/params.h"

namespace weir {

using Varied =
    std::vector<std::pair<std::string, Json>>;  // JSON pointer into the scenario, value; in the file's order

struct Point {
  std::int64_t index = 0;  // its place among the sweep's points, the same in every run of the same file
  Varied varied;           // the seed is one of them ("/seed") where a sweep repeats seeds
  Json scenario;           // whole, values set; relative paths are relative to scenario_file
};

struct LeftOut {  // a layout that "layouts": "all" does not run
  std::string what, why;
};

struct PointLimits {
  std::optional<double> time_s;              // wall clock of one point
  std::optional<std::int64_t> memory_bytes;  // address space of one point's process
};

struct Sweep {
  std::string name;
  std::filesystem::path file;           // the sweep's own
  std::filesystem::path scenario_file;  // errors and relative paths of points
  std::vector<std::string> varied;      // pointers, one column of results.csv each
  std::vector<Point> points;
  std::vector<LeftOut> left_out;
  PointLimits limits;
  Searches searches;  // what run_point() does at each point, and conclude() after the last one
  Json resolved;      // the file with its defaults; its text tells a resumed sweep from another one
};

// Throws ConfigErrors with every problem of the file and of the points' scenarios.
Sweep read_sweep(const std::filesystem::path& file);
bool is_sweep(
    const Json& document);  // has a "scenario", "vary", "zip", "layouts" or "seeds"; a scenario has none
Json sweep_schema();

}  // namespace weir
