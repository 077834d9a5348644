#pragma once
// `weir reproduce hermes`: the rows of Figures 4 and 9 to 17 (Liu et al.: Make LLM Inference Affordable to
// Everyone, HPCA 2025, arXiv 2502.16963), of its predictor, its offline mapping and its DIMMs. Each part
// leaves a CSV, from which its figure is drawn.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/hermes/runs.h"
#include "sim/studies/in_sets.h"

namespace weir {

std::vector<ReproducedRow> reproduce_hermes(const ReproduceOptions& options);
std::vector<std::string> hermes_ids();
void draw_hermes(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace hermes {

using Rows = ReproducedRows;
using Folder = std::filesystem::path;

InSets figure(const Runs& runs, const HermesRun& run, double CaseResult::*what);
InSets rate(const Runs& runs, const HermesRun& run);  // tokens/s end to end, prompt included
inline InSets rate(const Runs& runs, const OffloadSystem& system, const char* model, int batch = 1) {
  return rate(runs, {.system = &system, .model = model, .batch = batch});
}
// Runs beyond a batch of 1 are of the paper set alone.
HermesRun run_of(const OffloadSystem& system, const char* model, int batch = 1);

inline const std::vector<const char*> opt_models = {"opt13b", "opt30b", "opt66b"},
                                      large_models = {"opt30b", "opt66b", "falcon40b", "llama2_70b"};
template <class Of>
InSets mean_over(const std::vector<const char*>& names, const Of& of) {
  std::vector<InSets> all;
  for (const char* name : names) all.push_back(of(name));
  return mean(all);
}
std::vector<const char*> all_models();

// A row that is one ratio of rates, or the mean of it over models.
struct RatioRow {
  const char *id, *metric;
  std::optional<double> published;
  std::vector<std::pair<HermesRun, HermesRun>> over;  // the first over the second
  Bounds paper = {}, physical = {};
  const char* note = "";
};
void want_ratios(Runs& runs, const std::vector<RatioRow>& rows);
// Makes the rows that are asked for; the note has each ratio of a mean.
void add_ratios(const Runs& runs, const std::vector<RatioRow>& ratios, Rows& rows);
// True if all of them are asked for, and so the CSV of their figure is.
bool wants_each(const Runs& runs, const std::vector<RatioRow>& rows);

// Each part says which runs it wants, and makes its rows and its CSV once they are there.
void add_hardware(const Runs& runs, const Folder& folder, Rows& rows);    // bandwidths, rooms, tables
void add_placement(const Runs& runs, const Folder& folder, Rows& rows);   // Section IV-B
void add_activity(const Runs& runs, const Folder& folder, Rows& rows);    // Figure 4
void add_prediction(const Runs& runs, const Folder& folder, Rows& rows);  // Section IV-C 1
void want_end_to_end(Runs& runs);
void add_end_to_end(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 9 and 10
void want_batches(Runs& runs);
void add_batches(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 11
void want_breakdown(Runs& runs);
void add_breakdown(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 12
void add_ablation(const Runs& runs, const Folder& folder, Rows& rows);   // Figure 13
void want_sensitivity(Runs& runs);
void add_sensitivity(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 14 to 16
void want_servers(Runs& runs);
void add_servers(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 17

}  // namespace hermes
}  // namespace weir
