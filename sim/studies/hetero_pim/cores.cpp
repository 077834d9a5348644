// Figure 12: one, four and sixteen ARM cores on a logic die of one area: more of them displace pairs.
#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

constexpr int core_counts[] = {1, 4, 16};

StepRatio sixteen_over_one() {
  return {
      "fig12_16p_over_1p",
      "time of 16 cores over that of one, largest of the nets",
      1.14,
      &CaseResult::step_s,
      over_nets([](const StudiedNet& net) { return with_cores(net, 16); },
                [](const StudiedNet& net) { return with_cores(net, 1); }),
      largest,
      {},
      "the paper: 1.12 to 1.14; no bounds: it hangs on the pairs that a core displaces, which the row of the "
      "device takes from this figure"};
}

void add_slower(const Runs& runs, Rows& rows) {
  constexpr const char* id = "fig12_16p_slower";
  if (!runs.wants_row(id)) return;
  std::vector<InSets> all;
  std::vector<std::pair<std::string, InSets>> named, busy;
  for (const StudiedNet& net : nets) {
    const InSets over = figure(runs, with_cores(net, 16), &CaseResult::step_s) /
                        figure(runs, with_cores(net, 1), &CaseResult::step_s);
    all.push_back(over);
    named.emplace_back(net.title, over);
    busy.emplace_back(net.title, figure(runs, with_cores(net, 1), &CaseResult::arm_busy));
  }
  InSets slower = least(all);
  for (const auto set : {&InSets::paper, &InSets::physical})
    if (slower.*set) slower.*set = *(slower.*set) > 1;
  ReproducedRow& row =
      add_row(rows, id, "1: 16 cores are slower than one in every net", 1, slower, exactly(1));
  add_note(row, listed(named));
  add_note(
      row,
      fmt::format("they displace pairs, which slows what waits for pairs, and do the rest of split operators "
                  "faster; one core is busy for {}",
                  listed(busy)));
}

void write_cores(const Runs& runs, const Folder& folder) {
  std::vector<StepLine> lines;
  for (const StudiedNet& net : nets)
    for (const int cores : core_counts)
      lines.push_back({net.title, fmt::format("{}P", cores), with_cores(net, cores), with_cores(net, 1)});
  write_steps(runs, folder / "cores.csv", lines);
}

}  // namespace

void want_cores(Runs& runs) {
  for (const StudiedNet& net : nets)
    for (const int cores : core_counts) runs.want(with_cores(net, cores));
}

void add_cores(const Runs& runs, const Folder& folder, Rows& rows) {
  add_slower(runs, rows);
  add_ratios(runs, {sixteen_over_one()}, rows);
  write_cores(runs, folder);
}

}  // namespace weir::hetero_pim
