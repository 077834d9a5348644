#pragma once
// Sweep files of a test's making: what they expand to, what their points give, and what is said of those that
// are wrong.
#include <fstream>
#include <set>

#include "sim/app/child_process.h"
#include "sim/app/sweep/point_run.h"
#include "sim/app/sweep/sweep.h"
#include "test/app/scratch_directory.h"
#include "test/serving/run_in_child.h"

namespace weir::test {

inline const std::string tensor = "/serving/replicas/0/parallelism/tensor";
inline const std::string pipeline = "/serving/replicas/0/parallelism/pipeline";
inline const std::string replicas = "/serving/replicas/0/count";
inline const std::string rate = "/workload/arrivals/rate_per_s";

inline Sweep swept(const Json& document) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "sweep.json") << document.dump();
  return read_sweep(scratch / "sweep.json");
}

inline Json with(const std::string& keys, Json scenario = small_scenario()) {
  Json sweep = parse_json(keys, "keys");
  sweep["scenario"] = std::move(scenario);
  return sweep;
}

inline std::vector<Problem> problems_of(const Json& document) {
  try {
    swept(document);
    return {};
  } catch (const ConfigError& e) {
    return e.problems();
  }
}

inline std::set<std::string> places(const std::vector<Problem>& problems) {
  std::set<std::string> all;
  for (const Problem& p : problems) all.insert(p.pointer);
  return all;
}

inline bool any_says(const std::vector<Problem>& problems, const std::string& what) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& p) { return p.what.find(what) != std::string::npos; });
}

inline Json values_of(const Sweep& sweep, const std::string& pointer) {
  Json values = Json::array();
  for (const Point& point : sweep.points)
    for (const auto& [name, value] : point.varied)
      if (name == pointer) values.push_back(value);
  return values;
}

inline std::vector<int> layout_of(const Sweep& sweep, const Point& point) {
  const Json scenario = scenario_of(sweep, point);
  const Json& group = scenario["serving"]["replicas"][0];
  return {group["parallelism"]["tensor"].get<int>(), group["parallelism"]["pipeline"].get<int>(),
          group["count"].get<int>()};
}

inline Json llama70b(const std::string& kind, int devices) {
  Json scenario = small_scenario();
  scenario["model"] = "llama3.1-70b";
  scenario["cluster"]["nodes"][0]["devices"][0] = {{"kind", kind}, {"count", devices}};
  return scenario;
}

// The summaries of all points, each run in a child process.
inline std::vector<Json> run_all(const Sweep& sweep) {
  std::vector<Json> summaries(sweep.points.size());
  in_children(
      summaries.size(), 2, [&](std::size_t i) { return run_point(sweep, sweep.points[i]).dump(); },
      [&](std::size_t i, const ChildResult& result) {
        REQUIRE(result.error == "");
        summaries[i] = parse_json(result.output, "summary");
        return true;
      });
  return summaries;
}

inline PointResult done(std::int64_t index, Varied varied, Json summary) {
  return {index, std::move(varied), "done", "", std::move(summary)};
}

}  // namespace weir::test
