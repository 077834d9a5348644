// weir compare: runs and sweeps side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/app/command_line.h"
#include "sim/app/compare/comparison.h"
#include "sim/app/results/metric.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

struct CompareArguments {
  std::vector<std::string> directories;
  std::vector<std::string> metrics = {"output_throughput", "p99_ttft_ms", "mean_tpot_ms"};
  bool json = false;
};

int compare_directories(const CompareArguments& a) {
  if (a.directories.size() < 2)
    throw ConfigError("weir compare", "",
                      "expected two directories or more, results of weir run or weir sweep");
  std::vector<ResultSet> sets;
  for (const std::string& directory : a.directories) sets.push_back(read_results(directory));
  for (const std::string& metric : a.metrics) {
    std::vector<std::string> known;
    for (const auto& set : sets)
      for (const PointResult& point : set.points)
        if (known.empty())
          for (const auto& [name, value] : scalar_metrics(point.summary)) known.push_back(name);
    if (!known.empty() && std::find(known.begin(), known.end(), metric) == known.end())
      throw ConfigError("--metric", "", no_such("metric", metric, known));
  }
  const Comparison comparison = compare(std::move(sets));
  fmt::print("{}",
             a.json ? comparison_json(comparison).dump(2) + "\n" : comparison_table(comparison, a.metrics));
  return exit_done;
}

}  // namespace

std::function<int()> declare_compare(CLI::App& app) {
  const auto a = std::make_shared<CompareArguments>();
  app.add_option("DIR", a->directories,
                 "results of weir run or weir sweep, two or more; ratios are to the first")
      ->required();
  app.add_option("--metric", a->metrics, "of sweeps: show this metric point by point (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->take_all()
      ->capture_default_str();
  app.add_flag("--json", a->json, "for programs");
  return [a] { return compare_directories(*a); };
}

}  // namespace weir
