#include "sim/studies/hetero_pim/study.h"

#include <algorithm>

#include "sim/app/output/output_file.h"

namespace weir {
namespace hetero_pim {

InSets figure(const Runs& runs, const NetRun& run, Figure what) {
  const Measured& m = runs.found(run);
  return in_sets(m.paper, run.paper_only ? nullptr : &m.physical, what, name_of(run));
}

Bounds exactly(double value) {
  return {value, value};
}

TrainingJob job_of(const NetRun& run, const std::string& assumptions) {
  return read_plan(scenario_of(run, assumptions), name_of(run)).training.front();
}

std::vector<StepRatio::Of> over_nets(const std::function<NetRun(const StudiedNet&)>& run,
                                     const std::function<NetRun(const StudiedNet&)>& base) {
  std::vector<StepRatio::Of> all;
  for (const StudiedNet& net : nets) all.push_back({net.title, run(net), base(net)});
  return all;
}

void want_ratios(Runs& runs, const std::vector<StepRatio>& rows) {
  for (const StepRatio& row : rows) {
    if (!runs.wants_row(row.id)) continue;
    for (const StepRatio::Of& of : row.of) {
      runs.want(of.run), runs.want(of.base);
      for (const StepRatio::Variant& variant : row.variants)
        runs.want(variant.changed(of.run)), runs.want(variant.changed(of.base));
    }
  }
}

std::string listed(const std::vector<std::pair<std::string, InSets>>& all) {
  std::string words;
  for (const auto& [title, value] : all)
    if (value.paper) words += fmt::format("{}{} {:.3g}", words.empty() ? "" : ", ", title, *value.paper);
  return words;
}

namespace {

using Named = std::vector<std::pair<std::string, InSets>>;

NetRun as_it_is(NetRun run) {
  return run;
}

Named ratios_of(const Runs& runs, const StepRatio& row, NetRun (*changed)(NetRun)) {
  Named all;
  for (const StepRatio::Of& of : row.of)
    all.emplace_back(of.title,
                     figure(runs, changed(of.run), row.figure) / figure(runs, changed(of.base), row.figure));
  return all;
}

}  // namespace

const StepRatio::Variant sooner{"where operators go to whichever is sooner, the memory or the CPU",
                                going_sooner};
const StepRatio::Variant spare_cores{"64 ARM cores beside as many pairs", with_spare_cores};
const std::vector<StepRatio::Variant> not_bound_by_pairs = {{"pairs that take no time", with_free_pairs},
                                                            spare_cores};

void add_ratios(const Runs& runs, const std::vector<StepRatio>& ratios, Rows& rows) {
  for (const StepRatio& row : ratios) {
    if (!runs.wants_row(row.id)) continue;
    const Named named = ratios_of(runs, row, as_it_is);
    std::vector<InSets> all;
    for (const auto& [title, ratio] : named) all.push_back(ratio);
    ReproducedRow& made = add_row(rows, row.id, row.metric, row.published,
                                  all.size() > 1 ? row.picked(all) : all.front(), row.bounds);
    if (all.size() > 1) add_note(made, listed(named));
    add_note(made, row.note);
    for (const StepRatio::Variant& variant : row.variants)
      add_note(made, fmt::format("{}: {}", variant.words, listed(ratios_of(runs, row, variant.changed))));
    if (row.evidence) add_note(made, row.evidence(runs));
  }
}

namespace {

struct StepColumn {
  const char* name;
  double (*of)(const CaseResult& step, const CaseResult& base);
};
const StepColumn step_columns[] = {
    {"step_s", [](const CaseResult& step, const CaseResult&) { return step.step_s; }},
    {"operation_s", [](const CaseResult& step, const CaseResult&) { return step.operation_s; }},
    {"movement_s", [](const CaseResult& step, const CaseResult&) { return step.movement_s; }},
    {"synchronisation_s", [](const CaseResult& step, const CaseResult&) { return step.synchronisation_s; }},
    {"time_over_base",
     [](const CaseResult& step, const CaseResult& base) { return step.step_s / base.step_s; }},
    {"joules", [](const CaseResult& step, const CaseResult&) { return step.step_joules; }},
    {"joules_over_base",
     [](const CaseResult& step, const CaseResult& base) { return step.step_joules / base.step_joules; }},
    {"edp_over_base", [](const CaseResult& step, const CaseResult& base) { return edp(step) / edp(base); }},
    {"watts", [](const CaseResult& step, const CaseResult&) { return watts(step); }},
    {"pairs_busy", [](const CaseResult& step, const CaseResult&) { return step.pairs_busy; }},
    {"arm_busy", [](const CaseResult& step, const CaseResult&) { return step.arm_busy; }},
    {"cpu_busy", [](const CaseResult& step, const CaseResult&) { return step.cpu_busy; }},
};

}  // namespace

void write_steps(const Runs& runs, const std::filesystem::path& path, const std::vector<StepLine>& lines) {
  OutputFile file(path);
  file.text("net,system");
  for (const StepColumn& column : step_columns) file.print(",{0},physical_{0}", column.name);
  file.text("\n");
  for (const StepLine& line : lines) {
    const Measured &step = runs.at(line.run), &base = runs.at(line.base);
    file.print("{},{}", line.net, line.system);
    const bool paper_only = line.run.paper_only || line.base.paper_only;
    for (const StepColumn& column : step_columns) {
      file.print(",{:.5g},", column.of(step.paper, base.paper));
      if (!paper_only) file.print("{:.5g}", column.of(step.physical, base.physical));
    }
    file.text("\n");
  }
  file.close();
}

namespace {

const std::vector<StudyPart<Runs>> all_parts = {
    {{"peak_tflops", "pairs_", "step_floor", "window_use"}, [](Runs&) {}, add_hardware},
    {{"tab1_conv2d_count", "tab1_filter_count", "tab1_input_count", "tab1_other_counts", "gflop"},
     [](Runs&) {},
     add_nets},
    {{"tab1_share", "tab1_access_share", "select"}, [](Runs&) {}, add_profile},
    {{"fig8"}, want_systems, add_systems},
    {{"fig9", "fig10"}, want_energy, add_energy},
    {{"fig11", "fig17"}, want_clocks, add_clocks},
    {{"fig12"}, want_cores, add_cores},
    {{"fig13", "fig14", "fig15"}, want_software, add_software},
    {{"fig16"}, want_mixed, add_mixed},
};

// Plays what streams and patches of the stack reach, which is then remembered, once and not in every child.
void play_streams() {
  for (const StudiedNet& net : nets) {
    const TrainingJob job = job_of(run_of(hetero, net), "paper");
    TrainingStep(job.graph, job.machine, job.spec.runtime, 2);
  }
}

}  // namespace
}  // namespace hetero_pim

std::vector<std::string> hetero_pim_ids() {
  return ids_of(hetero_pim::all_parts);
}

std::vector<ReproducedRow> reproduce_hetero_pim(const ReproduceOptions& options) {
  hetero_pim::play_streams();
  return reproduce_parts(hetero_pim::all_parts, options);
}

}  // namespace weir
