#pragma once
// `weir reproduce neupims`: the rows of Figures 12 to 14, Table 4 and Algorithm 1 (Heo et al., ASPLOS 2024).
// Both assumption sets side by side: `paper` holds constants that were fitted to the first three rows, which
// are therefore not judged in it; nothing in `physical` was fitted.
#include <vector>

#include "sim/app/reproduce/neupims/runs.h"

namespace weir {

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options);
void draw_neupims(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace neupims {

using Rows = std::vector<ReproducedRow>;
extern const std::vector<int> batches;  // Figure 12's, of a device
extern const std::vector<const char*> datasets;

// Each part says which runs it wants, and makes its rows once they are there.
void want_throughput(Runs& runs);
void add_throughput(const Runs& runs, Rows& rows);  // Figure 12
void want_ablation(Runs& runs);
void add_ablation(const Runs& runs, Rows& rows);  // Figure 13
void want_utilisation(Runs& runs);
void add_utilisation(const Runs& runs, Rows& rows);  // Table 4
void want_layouts(Runs& runs);
void add_layouts(const Runs& runs, Rows& rows);  // Figure 14
void add_channel_loads(Rows& rows);              // Algorithm 2
void add_estimates(Rows& rows);                  // Algorithm 1
// runs.csv: every run, for whoever draws or reads on.
void write_runs(const Runs& runs, const std::filesystem::path& folder);

}  // namespace neupims
}  // namespace weir
