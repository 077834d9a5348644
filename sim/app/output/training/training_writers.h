#pragma once
// A run of training jobs leaves summary.json, training_steps.csv, timeline.json, figures, and the table on
// the terminal. docs/results.md has the names.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"
#include "sim/app/wrap.h"
#include "sim/training/train.h"

namespace weir {

struct FinishedTraining {
  const Plan& plan;
  const std::vector<TrainingResult>& jobs;
  const std::vector<Seconds>* alone = nullptr;  // beside replicas: each job's time with the cluster to itself
  const Json* served_alone = nullptr;           // and headline() of theirs without the jobs, or null
};

struct BusyUnit {
  std::string name;
  Seconds busy;  // the mean of its members; of a pool that of all it has
  double utilisation = 0;
};
std::vector<BusyUnit> busy_units(const TrainingResult& result);

// By how much later its last step ended than with the cluster to itself.
Seconds lost_to_replicas(const TrainingResult& result, Seconds alone);

// The times of the steps of a job, in ms; the profiled one among them. Where steps overlap, a step takes from
// the end of the one before to its own.
std::vector<double> step_times_ms(const TrainingRun& run);

Json training_jobs_json(const FinishedTraining& training);
Json training_summary_json(const FinishedTraining& training);
void write_training_steps_csv(const std::filesystem::path& path, const FinishedTraining& training);
void write_training_timeline(const std::filesystem::path& path, const FinishedTraining& training);
void draw_training_figures(ResultDirectory& directory, const FinishedTraining& training);
std::string training_table(const FinishedTraining& training, bool styled, std::size_t width = unbounded);

}  // namespace weir
