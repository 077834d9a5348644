#pragma once
// `weir reproduce l3`: the rows of Figures 2 and 8 to 11 and of Table 5 (Liu et al.: L3, arXiv 2504.17584).
// Throughputs are means over seeds, ratios are taken seed by seed. Nothing is fitted but the decode attention
// of `eff`, to Figure 11. Each part leaves a CSV, from which its figure is drawn.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/l3/runs.h"

namespace weir {

std::vector<ReproducedRow> reproduce_l3(const ReproduceOptions& options);
std::vector<std::string> l3_ids();
void draw_l3(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace l3 {

using Rows = std::vector<ReproducedRow>;
using Folder = std::filesystem::path;

// OPT-66B's ratios spread by up to 15 % of their mean over seeds, as its GPUs hold few requests and the
// longest rule: five; the others', and NEO's, by 1 to 5 %: three. Those of the DIMMs' commands spread by less
// than 0.1 %, and no seed changes a step of one batch: one.
int seeds_of(const SystemRun& run);

// A number of every seed, in both sets; empty where one of its runs failed, and why.
struct OverSeeds {
  std::vector<double> paper, physical;
  std::string paper_error, physical_error;
};
using Figure = double CaseResult::*;
OverSeeds sample(const Runs& runs, SystemRun run, Figure what);
OverSeeds over(const OverSeeds& a, const OverSeeds& b);
OverSeeds ratio(const Runs& runs, const SystemRun& a, const SystemRun& b,
                Figure what = &CaseResult::output_throughput);
double mean(const std::vector<double>& values);  // NaN of none
std::optional<double> mean_or_none(const std::vector<double>& values);
void want_seeds(Runs& runs, SystemRun run);

// The means; the note has the range over seeds.
ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       const OverSeeds& simulated, std::optional<double> low = {},
                       std::optional<double> high = {});
// The same of numbers that no seed changes.
ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       double paper, std::optional<double> physical, std::optional<double> low = {},
                       std::optional<double> high = {});

// Each part says which runs it wants, and makes its rows and its CSV once they are there.
void want_end_to_end(Runs& runs);
void add_end_to_end(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 8, batches
SystemRun scaled_run(const char* model, int bandwidth, int capacity);     // by these factors
void want_scaling(Runs& runs);
void add_scaling(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 9
SystemRun ablated_run(const char* model, bool scheduling, bool communication);
void want_ablation(Runs& runs);
void add_ablation(const Runs& runs, const Folder& folder, Rows& rows);    // Figure 10a
void add_prediction(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 10b
SystemRun gpus_alone(int batch);                                          // Figure 11's
SystemRun with_ranksets(int batch, int count);
void want_latency(Runs& runs);
void add_latency(const Runs& runs, const Folder& folder, Rows& rows);     // Figure 11
void add_motivation(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 2
void want_paper_gpu(Runs& runs);
void add_paper_gpu(const Runs& runs, const Folder& folder, Rows& rows);  // of Figures 8 to 11
void want_hardware(Runs& runs);
void add_hardware(const Runs& runs, const Folder& folder, Rows& rows);  // Table 5, Sections 4.1 to 4.4

}  // namespace l3
}  // namespace weir
