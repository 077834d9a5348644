#pragma once
// Sweeps small enough to run a hundred times, and what they left.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/app/results/store.h"

namespace weir::test {

// `points` points of `requests` requests each.
inline std::string write_small_sweep(const std::filesystem::path& file, int points, int requests = 30,
                                     const std::string& limits = "{}") {
  std::ofstream(file) << fmt::format(R"({{
    "name": "small", "limits": {},
    "scenario": {{
      "model": "llama3.1-8b",
      "cluster": {{"nodes": [{{"devices": [{{"kind": "h100_sxm"}}]}}]}},
      "serving": {{"replicas": [{{}}]}},
      "workload": {{"requests": {{"kind": "named", "name": "sharegpt", "count": {}}},
                    "arrivals": {{"kind": "poisson", "rate_per_s": 4}}}}
    }},
    "vary": {{"/workload/arrivals/rate_per_s": {{"from": 1, "to": 8, "steps": {}}}}}
  }})",
                                     limits, requests, points);
  return file.string();
}

inline std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Everything but what it cost, as text.
inline std::string rows(const std::filesystem::path& directory) {
  std::string all;
  for (const PointResult& p : read_results(directory).points)
    all +=
        fmt::format("{} {} {} {} {}\n", p.index, p.status, p.error, Json(p.varied).dump(), p.summary.dump());
  return all;
}

inline std::size_t points_done(const std::filesystem::path& directory) {
  const std::filesystem::path store = directory / "results.sqlite";
  return is_store(store) ? read_store(store).points.size() : 0;
}

}  // namespace weir::test
