// weir compare: runs, sweeps and what was measured of a server side by side.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/app/command_line.h"
#include "sim/app/compare/comparison.h"
#include "sim/app/measured/measured.h"
#include "sim/app/results/metric.h"
#include "sim/app/wrap.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

struct CompareArguments {
  std::vector<std::string> results, metrics;
  std::optional<std::int64_t> result;
  bool json = false;
};

void check_metrics(const std::vector<ResultSet>& sets, const std::vector<std::string>& metrics) {
  std::vector<std::string> known;
  for (const ResultSet& set : sets)
    for (const PointResult& point : set.points)
      if (known.empty())
        for (const auto& [name, value] : scalar_metrics(point.summary)) known.push_back(name);
  for (const std::string& metric : metrics)
    if (std::find(known.begin(), known.end(), metric) == known.end())
      throw ConfigError("--metric " + metric, "", no_such("metric", metric, known));
}

std::vector<std::string> usual_metrics(const ResultSet& results) {
  if (trains(results)) return {"training_0_samples_per_s", "training_0_mean_step_ms", "training_0_energy_j"};
  return {"output_throughput", "p99_ttft_ms", "mean_tpot_ms"};
}

// A measurement comes first: the others are held to it.
std::vector<ResultSet> read_sets(const CompareArguments& a) {
  std::vector<ResultSet> sets;
  for (const std::string& name : a.results)
    sets.push_back(std::filesystem::is_regular_file(name) ? read_measured(name, a.result)
                                                          : read_results(name));
  std::stable_partition(sets.begin(), sets.end(), [](const ResultSet& set) { return set.measured; });
  if (a.result && !sets[0].measured)
    throw ConfigError("--result", "", "is of a file with what was measured, and there is none");
  return sets;
}

int compare_results(const CompareArguments& a) {
  if (a.results.size() < 2)
    throw ConfigError(
        "weir compare", "",
        "expected two or more: directories of weir run or weir sweep, or files of load generators");
  std::vector<ResultSet> sets = read_sets(a);
  check_metrics(sets, a.metrics);
  for (const ResultSet& set : sets)
    for (const std::string& note : set.notes)
      fmt::print(stderr, "note: {}: {}\n", set.directory.string(), note);
  const Comparison comparison = compare(std::move(sets));
  if (comparison.points.empty())
    throw ConfigError("weir compare", "",
                      "they have no point in common: no values of the varied keys are in every one of " +
                          fmt::format("{}", fmt::join(a.results, ", ")));
  std::vector<std::string> shown = a.metrics;
  if (shown.empty() && comparison.points.size() > 1) shown = usual_metrics(comparison.sets[0]);
  constexpr std::size_t in_a_file = 100;  // columns
  const std::size_t terminal = terminal_width(STDOUT_FILENO);
  fmt::print("{}", a.json
                       ? comparison_json(comparison).dump(2) + "\n"
                       : comparison_table(comparison, shown, terminal == unbounded ? in_a_file : terminal));
  return exit_done;
}

}  // namespace

std::function<int()> declare_compare(CLI::App& app) {
  const auto a = std::make_shared<CompareArguments>();
  app.add_option("DIR|MEASURED.json", a->results,
                 "results of weir run or weir sweep, or of vLLM's or SGLang's benchmark, AIPerf, genai-perf, "
                 "GuideLLM, inference-perf, LLMPerf or trtllm-bench; two or more. Ratios are to the first, "
                 "errors to what was measured")
      ->required();
  app.add_option("--result", a->result,
                 "of a file that holds several results (a sweep of GuideLLM): this one, from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--metric", a->metrics,
         "show this metric alone; of sweeps: this one point by point (repeatable; default of runs: every "
         "one; of sweeps: output_throughput, p99_ttft_ms, mean_tpot_ms; of training samples/s, step time, "
         "energy)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--json", a->json, "for programs");
  return [a] { return compare_results(*a); };
}

}  // namespace weir
