#include "sim/app/results/result_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/app/output/place/swap_within.h"
#include "sim/app/output/result_directory.h"
#include "sim/app/results/store.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

ResultSet read_run(const fs::path& directory) {
  const fs::path file = directory / "summary.json";
  Json summary = read_json_file(file);
  if (!is_summary(summary))
    throw ConfigError(file.string(), "", "is not the summary of a run (weir run writes one)");
  ResultSet run;
  const auto name = summary.find("name");
  run.name =
      name != summary.end() && name->is_string() ? name->get<std::string>() : directory.filename().string();
  run.points.emplace_back();
  run.points.back().status = "done";
  run.points.back().summary = std::move(summary);
  return run;
}

ResultSet read_sweep_results(const fs::path& file) try {
  return read_store(file);
} catch (const ConfigError&) {
  throw;
} catch (const std::runtime_error& e) {  // SQLite's complaints: it is no database, or a damaged one
  throw ConfigError(file.string(), "", std::string("cannot be read: ") + e.what());
} catch (const Json::exception& e) {
  throw ConfigError(file.string(), "", std::string("cannot be read: ") + e.what());
}

// Keys of the summary that repeat the input are no metrics. request_rate could not be one: an endless rate is
// the text "inf".
bool is_given(const std::string& key) {
  constexpr std::array given = {"scenario",   "num_prompts",     "request_rate",
                                "burstiness", "max_concurrency", "training"};
  return std::find(given.begin(), given.end(), key) != given.end();
}

void append_scalars(const Json& object, const std::string& prefix,
                    std::vector<std::pair<std::string, double>>& metrics) {
  for (const auto& [key, value] : object.items()) {
    if (prefix.empty() && is_given(key)) continue;
    if (value.is_number())
      metrics.emplace_back(prefix + key, value.get<double>());
    else if (value.is_null())
      metrics.emplace_back(prefix + key, std::numeric_limits<double>::quiet_NaN());
    else if (value.is_object())
      append_scalars(value, prefix + key + "_", metrics);
  }
}

// Jobs are told apart by their place: training_0_mean_step_ms, ...
void append_jobs(const Json& jobs, std::vector<std::pair<std::string, double>>& metrics) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Json job = jobs[i];
    for (const char* given : {"batch", "steps"}) job.erase(given);
    append_scalars(job, fmt::format("training_{}_", i), metrics);
  }
}

}  // namespace

void require_results(const fs::path& directory) {
  if (!fs::is_directory(directory))
    throw ConfigError(directory.string(), "",
                      fs::exists(directory)
                          ? "is not a directory; expected the results of weir run or weir sweep"
                          : "no such directory");
  if (!fs::exists(directory / "results.sqlite") && !fs::exists(directory / "summary.json") &&
      !is_half_swapped(directory))
    throw ConfigError(
        directory.string(), "",
        "holds no results: neither summary.json (of weir run) nor results.sqlite (of weir sweep)");
}

ResultSet read_results(const fs::path& directory) {
  require_results(directory);
  ResultSet results = fs::exists(directory / "results.sqlite")
                          ? read_sweep_results(directory / "results.sqlite")
                          : read_run(directory);
  results.directory = directory;
  return results;
}

std::string what_is_missing(const ResultSet& results) {
  if (results.missing == 0) return "";
  return fmt::format(
      "{} of {} points have no result yet: the sweep was interrupted (--resume runs them), or "
      "it is running",
      results.missing, results.missing + results.points.size());
}

std::vector<std::pair<std::string, double>> scalar_metrics(const Json& summary) {
  std::vector<std::pair<std::string, double>> metrics;
  if (!summary.is_object()) return metrics;
  append_scalars(summary, "", metrics);
  if (const auto jobs = summary.find("training"); jobs != summary.end() && jobs->is_array())
    append_jobs(*jobs, metrics);
  return metrics;
}

}  // namespace weir
