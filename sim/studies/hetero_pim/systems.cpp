// Figure 8: the time of a step on each system, and what it goes into.
#include <algorithm>

#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

// True if Hetero, Fixed, Progr PIM and the CPU are in that order of time.
const std::vector<const TrainingSystem*> slowest_first = {&cpu, &progr_pim, &fixed_pim, &hetero};
bool in_order(const Runs& runs, const StudiedNet& net, CaseResult Measured::*set) {
  return std::ranges::is_sorted(slowest_first, [&](const TrainingSystem* a, const TrainingSystem* b) {
    return (runs.at(run_of(*a, net)).*set).step_s > (runs.at(run_of(*b, net)).*set).step_s;
  });
}

void add_order(const Runs& runs, Rows& rows) {
  constexpr const char* id = "fig8_order_nets";
  if (!runs.wants_row(id)) return;
  InSets ordered{0, 0};
  std::string others;
  for (const StudiedNet& net : nets) {
    *ordered.paper += in_order(runs, net, &Measured::paper);
    *ordered.physical += in_order(runs, net, &Measured::physical);
    if (in_order(runs, net, &Measured::paper)) continue;
    others += fmt::format("; not so in {}, in s:", net.title);
    for (const TrainingSystem* system : slowest_first)
      others += fmt::format(" {} {:.3g}", system->title, runs.at(run_of(*system, net)).paper.step_s);
  }
  add_row(rows, id, "nets where Hetero < Fixed < Progr < CPU in time", 5, ordered, {4, 5}).note =
      "the paper implies all five" + others;
}

void add_shares(const Runs& runs, Rows& rows) {
  const struct {
    const char *id, *metric, *note;
    Figure part;
  } parts[] = {{"movement", "of a Hetero PIM step only data move", "the paper has bars alone",
                &CaseResult::movement_s},
               {"sync", "of a Hetero PIM step the host only starts and awaits kernels",
                "the paper has bars alone, and no time of a synchronisation: 20 us are an ESTIMATE",
                &CaseResult::synchronisation_s}};
  for (const auto& part : parts)
    for (const StudiedNet& net : nets) {
      const std::string id = fmt::format("fig8_{}_share_{}", part.id, net.id);
      if (!runs.wants_row(id)) continue;
      const NetRun run = run_of(hetero, net);
      add_row(rows, id, fmt::format("share {}, {}", part.metric, net.title), {},
              figure(runs, run, part.part) / figure(runs, run, &CaseResult::step_s))
          .note = fmt::format("no bounds: {}", part.note);
    }
}

void write_systems(const Runs& runs, const Folder& folder) {
  std::vector<StepLine> lines;
  for (const StudiedNet& net : nets) {
    for (const TrainingSystem* system : systems)
      lines.push_back({net.title, system->title, run_of(*system, net), run_of(cpu, net)});
    lines.push_back(
        {net.title, "hypothetical 16 lanes", hypothetical(run_of(hetero, net)), run_of(cpu, net)});
  }
  write_steps(runs, folder / "systems.csv", lines);
}

bool wants_systems_csv(const Runs& runs) {
  return runs.wants_row("fig8_order_nets");
}

}  // namespace

void want_systems(Runs& runs) {
  want_ratios(runs, speedups());
  for (const StudiedNet& net : nets)
    for (const char* part : {"movement", "sync"})
      if (runs.wants_row(fmt::format("fig8_{}_share_{}", part, net.id))) runs.want(run_of(hetero, net));
  if (!wants_systems_csv(runs)) return;
  for (const StudiedNet& net : nets) {
    for (const TrainingSystem* system : systems) runs.want(run_of(*system, net));
    runs.want(hypothetical(run_of(hetero, net)));
  }
}

void add_systems(const Runs& runs, const Folder& folder, Rows& rows) {
  add_order(runs, rows);
  add_ratios(runs, speedups(), rows);
  add_shares(runs, rows);
  if (wants_systems_csv(runs)) write_systems(runs, folder);
}

}  // namespace weir::hetero_pim
