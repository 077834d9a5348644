#pragma once
// `weir reproduce neupims`: the rows of Figures 12 to 15, Tables 4 and 5 and Algorithm 1 (Heo et al., ASPLOS
// 2024).
// Both assumption sets side by side: `paper` holds constants that were fitted to the first three rows, which
// are therefore not judged in it; nothing in `physical` was fitted.
#include <functional>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/studies/neupims/runs.h"

namespace weir {

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options);
std::vector<std::string> neupims_ids();
void draw_neupims(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace neupims {

using Rows = std::vector<ReproducedRow>;
extern const std::vector<int> batches;  // Figure 12's, of a device
extern const std::vector<const char*> datasets;
inline constexpr int channels = 32;  // of a device
inline constexpr const char* pim_memory_name = "hbm2_neupims";
StudyPoint throughput_point(const Machine& machine, const Model& model, const char* dataset, int batch);
StudyPoint table4_point(const Machine& machine);
// The warm batches of a scenario, where its policy places them.
std::vector<std::vector<PlacedRequest>> placed_batches(const Plan& plan, int batch);

double mean(const std::vector<double>& values);

// Each part says which runs it wants, and makes its rows once they are there.
void want_throughput(Runs& runs);
void add_throughput(const Runs& runs, Rows& rows);  // Figure 12
void want_ablation(Runs& runs);
void add_ablation(const Runs& runs, Rows& rows);  // Figure 13
void want_utilisation(Runs& runs);
void add_utilisation(const Runs& runs, Rows& rows);  // Table 4
void want_layouts(Runs& runs);
void add_layouts(const Runs& runs, Rows& rows);  // Figure 14
void add_power(const Runs& runs, Rows& rows);    // Table 5, of Table 4's runs
double transpim_rate(const Scenario& scenario);  // tokens a second: an ESTIMATE
// Figure 15, of Figure 12's runs; leaves transpim.csv, if there is a folder.
void add_transpim(const Runs& runs, const std::filesystem::path& folder, Rows& rows);
void add_channel_loads(Rows& rows);  // Algorithm 2
void add_estimates(Rows& rows);      // Algorithm 1
// Notes to the means of Figure 12: what each cause is worth that the physical set has and the paper's may
// not.
void want_evidence(Runs& runs);
void add_evidence(const Runs& runs, Rows& rows);
void add_capacity(Rows& rows);  // and which of its points the memory does not hold
// runs.csv: every run, for whoever draws or reads on. algorithm1.csv: its curves.
void write_runs(const Runs& runs, const std::filesystem::path& folder);
void write_algorithm1(const std::filesystem::path& folder);

}  // namespace neupims
}  // namespace weir
