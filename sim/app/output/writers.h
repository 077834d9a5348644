#pragma once
// Files of a finished run, one function a file of docs/results.md, one source file each. All of
// it but performance.json is a function of scenario and seed: no clock, no machine, no paths but those the
// user gave.
#include <chrono>
#include <filesystem>
#include <string>

#include "sim/app/output/metrics.h"
#include "sim/app/wrap.h"
#include "sim/plan/plan.h"

namespace weir {

struct FinishedTraining;  // training/training_writers.h

struct FinishedRun {
  const Plan& plan;
  const RunResult& result;
  const Metrics& metrics;
  const FinishedTraining* training = nullptr;  // beside it
};

Json summary_json(const FinishedRun& run);
Json headline(const Json& summary);  // duration, throughputs and latencies, by their names there
void write_requests_csv(const std::filesystem::path& path, const RunResult& result);
void write_sessions_csv(const std::filesystem::path& path, const RunResult& result);  // which has sessions
void write_timeseries_csv(const std::filesystem::path& path, const RunResult& result);
std::vector<std::string> left_out_of_timeline(const RunResult& result);  // notes; they are in the file too
void write_timeline_json(const std::filesystem::path& path, const RunResult& result);
void write_detailed_json(const std::filesystem::path& path, const RunResult& result);
Json performance_json(std::chrono::steady_clock::time_point started,
                      const RunResult& result);  // of this process so far
// Which device stopped, when, and which requests were lost with it.
std::string words_of_stop(const RunResult& result);

// For the terminal; `styled` only if stdout is one.
std::string summary_table(const FinishedRun& run, bool styled, std::size_t width = unbounded);

// The contents of a rank's memory in each group of replicas, a line each.
std::vector<std::string> memory_in_words(const Plan& plan);

// "replica 0 stage 1" as part of a column's name: replica_0_stage_1
std::string column_name(const std::string& name);

}  // namespace weir
