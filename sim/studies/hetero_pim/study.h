#pragma once
// `weir reproduce hetero_pim`: the rows of Table I and Figures 8 to 17 (Liu et al.: Processing-in-Memory for
// Energy-efficient Neural Network Training: A Heterogeneous Approach, MICRO 2018), of its nets and of its
// hardware. Each part leaves a CSV, from which its figure is drawn.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/studies/hetero_pim/runs.h"
#include "sim/studies/in_sets.h"

namespace weir {

std::vector<ReproducedRow> reproduce_hetero_pim(const ReproduceOptions& options);
std::vector<std::string> hetero_pim_ids();
void draw_hetero_pim(ResultDirectory& directory, const std::vector<ReproducedRow>& rows);

namespace hetero_pim {

using Rows = ReproducedRows;
using Folder = std::filesystem::path;
using Figure = double CaseResult::*;

inline double watts(const CaseResult& step) {
  return step.step_joules / step.step_s;
}
inline double edp(const CaseResult& step) {  // energy x delay
  return step.step_joules * step.step_s;
}
InSets figure(const Runs& runs, const NetRun& run, Figure what);
inline InSets same(double value) {  // in both sets
  return {value, value};
}
Bounds exactly(double value);
TrainingJob job_of(const NetRun& run, const std::string& assumptions);

// A row that is one ratio of two runs' figures, or one of several over the nets.
struct StepRatio {
  // The same ratios of changed runs, in the note: what the number hangs on.
  struct Variant {
    const char* words;
    NetRun (*changed)(NetRun);
  };
  struct Of {
    std::string title;
    NetRun run, base;  // the figure of the first over that of the second
  };
  std::string id, metric;
  std::optional<double> published;
  Figure figure;
  std::vector<Of> of;
  InSets (*picked)(const std::vector<InSets>&);  // least, largest: of several
  Bounds bounds = {};
  std::string note = {};
  std::vector<Variant> variants = {};
  std::function<std::string(const Runs&)> evidence = {};  // more of the note, of runs that the row wants
};
extern const StepRatio::Variant sooner;
extern const StepRatio::Variant spare_cores;
extern const std::vector<StepRatio::Variant> not_bound_by_pairs;
// Of each net.
std::vector<StepRatio::Of> over_nets(const std::function<NetRun(const StudiedNet&)>& run,
                                     const std::function<NetRun(const StudiedNet&)>& base);
void want_ratios(Runs& runs, const std::vector<StepRatio>& rows);
// Makes the rows that are asked for; the note of several has each of them.
void add_ratios(const Runs& runs, const std::vector<StepRatio>& ratios, Rows& rows);
// Every number beside its title.
std::string listed(const std::vector<std::pair<std::string, InSets>>& all);

// Figure 8's.
std::vector<StepRatio> speedups();

// A line of a part's CSV: a run, and what its step is compared with.
struct StepLine {
  std::string net, system;
  NetRun run, base;
};
// Every column in both sets, the physical one behind the paper's, and empty where it was not run.
void write_steps(const Runs& runs, const std::filesystem::path& path, const std::vector<StepLine>& lines);

inline std::function<NetRun(const StudiedNet&)> on(const TrainingSystem& system) {
  return [&system](const StudiedNet& net) { return run_of(system, net); };
}

// Each part says which runs it wants, and makes its rows and its CSV once they are there.
void add_hardware(const Runs& runs, const Folder& folder, Rows& rows);  // peak, pairs, windows, floor
void add_nets(const Runs& runs, const Folder& folder, Rows& rows);      // counts and flops of steps
void add_profile(const Runs& runs, const Folder& folder, Rows& rows);   // Table I, selection
void want_systems(Runs& runs);
void add_systems(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 8
void want_energy(Runs& runs);
void add_energy(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 9 and 10
void want_clocks(Runs& runs);
void add_clocks(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 11 and 17
void want_cores(Runs& runs);
void add_cores(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 12
void want_mixed(Runs& runs);
void add_mixed(const Runs& runs, const Folder& folder, Rows& rows);  // Figure 16
void want_software(Runs& runs);
void add_software(const Runs& runs, const Folder& folder, Rows& rows);  // Figures 13 to 15

}  // namespace hetero_pim
}  // namespace weir
