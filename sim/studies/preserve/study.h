#pragma once
// `weir reproduce preserve`: the rows of Figures 2, 4 to 8 and 10 and of Table 1 (Yuezgueler, Zhuang,
// Cavigelli: PRESERVE). Nothing is fitted in either set; `paper` leaves out what follows the decoder layers
// (LM head, gathering and sampling), which the authors' performance model does not name. Each part leaves a
// CSV, from which its figure is drawn.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/preserve/runs.h"

namespace weir {

std::vector<ReproducedRow> reproduce_preserve(const ReproduceOptions& options);
std::vector<std::string> preserve_ids();
void draw_preserve(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace preserve {

using Rows = std::vector<ReproducedRow>;
using Folder = std::filesystem::path;

constexpr int footprint_clusters[] = {1, 2, 4, 8, 16, 32, 64};
void add_footprints(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 2
void want_lengths(Runs& runs);
void add_lengths(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 4
void want_fused(Runs& runs);
void add_fused(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 5
void want_table1(Runs& runs);
void add_table1(const Runs& runs, const Folder& folder, Rows& rows);  // Table 1
void want_exploration(Runs& runs);
void add_exploration(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 6 and 7
void want_networks(Runs& runs);
void add_networks(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 8 and 10
void want_bound(Runs& runs);
void add_bound(const Runs& runs, const Folder& folder, Rows& rows);  // beside Figure 6, not the paper's

void draw_lengths(ResultDirectory& directory);
void draw_fused(ResultDirectory& directory);

struct Both {
  double paper, physical;
};
template <class Of>  // of(&Measured::paper), of(&Measured::physical)
Both both(const Of& of) {
  return {of(&Measured::paper), of(&Measured::physical)};
}
// How much longer it takes without, from the start of its requests to their ends.
double gain(const Runs& runs, const Run& without, const Run& with, CaseResult Measured::*set);
// Bounds are those of the paper's set; what is not bounded is only reported.
ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       Both simulated, std::optional<double> low = {}, std::optional<double> high = {});

// A what-if that is fitted has no physical column.
ReproducedRow& add_fitted_row(Rows& rows, std::string id, std::string metric, double published,
                              double simulated);

}  // namespace preserve
}  // namespace weir
