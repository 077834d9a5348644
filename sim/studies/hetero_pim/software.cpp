// Figures 13 to 15: what recursive kernels (RC) and the operation pipeline (OP) are worth, in time, energy
// and use of the pairs.
#include <algorithm>

#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

struct Techniques {
  const char* title;
  bool recursive_kernels, operation_pipeline;
};
const Techniques techniques[] = {
    {"neither", false, false}, {"RC", true, false}, {"OP", false, true}, {"RC and OP", true, true}};

NetRun with(const StudiedNet& net, const Techniques& used) {
  return with_techniques(net, used.recursive_kernels, used.operation_pipeline);
}
NetRun with_both(const StudiedNet& net) {
  return run_of(hetero, net);
}
std::vector<StepRatio> software_ratios() {
  std::vector<StepRatio> all;
  const auto add = [&](const char* id, const char* metric, double published, Figure figure,
                       std::vector<StepRatio::Of> of, auto picked, Bounds bounds, const char* note) {
    all.push_back({id, metric, published, figure, std::move(of), picked, bounds, note});
  };
  constexpr auto time = &CaseResult::step_s, joules = &CaseResult::step_joules;
  constexpr const char* busy =
      "no bounds: pairs that are busy leave nothing to gain but synchronisations, whose time is an ESTIMATE";
  add("fig13_hardware_over_fixed_max",
      "speed-up of Hetero PIM without RC and OP over Fixed PIM, largest of the nets", 1.30, time,
      over_nets(on(fixed_pim), without_techniques), largest, {}, busy);
  add("fig13_hardware_over_progr_max", "the same over Progr PIM", 8.5, time,
      over_nets(on(progr_pim), without_techniques), largest, {},
      "no bounds: the ratio of the pairs' peak to that of the cores, whose number is not published");
  add("fig13_rc_op_gain_max", "speed-up by RC and OP, largest of the nets", 3.8, time,
      over_nets(without_techniques, with_both), largest, {}, busy);
  const auto synchronising = [](const Runs& runs) {
    std::vector<std::pair<std::string, InSets>> shares;
    for (const StudiedNet& net : nets) {
      const NetRun run = hypothetical(without_techniques(net));
      shares.emplace_back(net.title, figure(runs, run, &CaseResult::synchronisation_s) /
                                         figure(runs, run, &CaseResult::step_s));
    }
    return fmt::format(
        "the ARM cores, which do the rest of split operators, are the bound with and without; "
        "synchronisation, 20 us an image and operator (ESTIMATE), is of the step without RC and OP {}",
        listed(shares));
  };
  const auto hypothetical_gain =
      over_nets([](const StudiedNet& net) { return hypothetical(without_techniques(net)); },
                [](const StudiedNet& net) { return hypothetical(with_both(net)); });
  for (const bool most : {false, true})
    all.push_back(
        {.id = fmt::format("fig13_rc_op_gain_{}_w16", most ? "max" : "min"),
         .metric = fmt::format("hypothetical, 16 lanes a pair: speed-up by RC and OP, {} of the nets",
                               most ? "largest" : "least"),
         .published = most ? std::optional(3.8) : std::nullopt,
         .figure = time,
         .of = hypothetical_gain,
         .picked = most ? largest : least,
         .bounds = {1.4, 4},
         .evidence = synchronising});
  std::vector<StepRatio::Of> hardware = over_nets(on(fixed_pim), without_techniques);
  for (StepRatio::Of& of : hardware) of.title += " over Fixed PIM";
  for (StepRatio::Of& of : over_nets(on(progr_pim), without_techniques)) {
    of.title += " over Progr PIM";
    hardware.push_back(of);
  }
  constexpr const char* no_joules =
      "no bounds: the paper gives neither the energy of an operation nor what the host draws meanwhile";
  add("fig14_hardware_gain_max",
      "dynamic energy of Fixed or Progr PIM over Hetero PIM's without RC and OP, largest of the nets", 2.7,
      joules, hardware, largest, {}, no_joules);
  add("fig14_rc_op_gain_max", "dynamic energy without RC and OP over that with both, largest of the nets",
      3.9, joules, over_nets(without_techniques, with_both), largest, {}, no_joules);
  return all;
}

// The gain in use of one over another, less 1.
struct UseGain {
  const char *id, *metric, *net;
  double published;
  Techniques used, base;
};
const UseGain use_gains[] = {{"fig15_rc_gain_vgg19", "gain of the pairs' use by RC, VGG-19", "vgg19", 0.66,
                              techniques[1], techniques[0]},
                             {"fig15_op_gain_alexnet", "further gain of the pairs' use by OP, AlexNet",
                              "alexnet", 0.18, techniques[3], techniques[1]}};

InSets use_of(const Runs& runs, const NetRun& run) {
  return figure(runs, run, &CaseResult::pairs_busy);
}

// The pairs' use where operators wait for nobody, and whom they wait for.
std::string why_not_busy(const Runs& runs) {
  std::vector<std::pair<std::string, InSets>> cores, on_cpu, elsewhere, times;
  for (const StudiedNet& net : nets) {
    const NetRun run = with_both(net), changed = going_sooner(run);
    cores.emplace_back(net.title, figure(runs, run, &CaseResult::arm_busy));
    on_cpu.emplace_back(net.title, figure(runs, run, &CaseResult::cpu_busy));
    elsewhere.emplace_back(net.title, use_of(runs, changed));
    times.emplace_back(net.title,
                       figure(runs, changed, &CaseResult::step_s) / figure(runs, run, &CaseResult::step_s));
  }
  return fmt::format(
      "the cores are busy for {}, the CPU for {}; where operators go to whichever is sooner, the memory "
      "or the CPU, the pairs' use is {}, and steps take {} times as long",
      listed(cores), listed(on_cpu), listed(elsewhere), listed(times));
}

void add_use(const Runs& runs, Rows& rows) {
  std::vector<InSets> all, lanes, grown;
  std::vector<std::pair<std::string, InSets>> named, named_lanes, named_without;
  for (const StudiedNet& net : nets) {
    all.push_back(use_of(runs, with_both(net)));
    lanes.push_back(use_of(runs, hypothetical(with_both(net))));
    const InSets without = use_of(runs, without_techniques(net));
    grown.push_back(all.back() / without);
    named.emplace_back(net.title, all.back());
    named_lanes.emplace_back(net.title, lanes.back());
    named_without.emplace_back(net.title, without);
  }
  ReproducedRow& use = add_row(rows, "fig15_util_min", "pairs busy with RC and OP, least of the nets", 1,
                               least(all), {0.90, 1});
  add_note(use, listed(named));
  add_note(use, why_not_busy(runs));
  InSets grows = least(grown);
  for (const auto set : {&InSets::paper, &InSets::physical})
    if (grows.*set) grows.*set = *(grows.*set) >= 1;
  ReproducedRow& more =
      add_row(rows, "fig15_util_grows", "1: the pairs are no less busy with RC and OP in any net", 1, grows,
              exactly(1));
  add_note(more, fmt::format("neither: {}; both: {}", listed(named_without), listed(named)));
  ReproducedRow& most = add_row(
      rows, "fig15_util_max_w16",
      "hypothetical, 16 lanes a pair: pairs busy with RC and OP, largest of the nets", 1, largest(lanes));
  add_note(most, listed(named_lanes));
  add_note(most, "no bounds: with 16 lanes the cores and the CPU are the bound, not the pairs");
}

void add_use_gains(const Runs& runs, Rows& rows) {
  for (const UseGain& gain : use_gains) {
    const StudiedNet& net = net_of(gain.net);
    InSets over = use_of(runs, with(net, gain.used)) / use_of(runs, with(net, gain.base));
    for (const auto set : {&InSets::paper, &InSets::physical})
      if (over.*set) *(over.*set) -= 1;
    ReproducedRow& row = add_row(rows, gain.id, gain.metric, gain.published, over);
    add_note(
        row,
        "no bounds: it hangs on the time of a synchronisation, an ESTIMATE, and the pairs are busy before");
  }
}

void write_software(const Runs& runs, const Folder& folder) {
  std::vector<StepLine> lines;
  for (const StudiedNet& net : nets) {
    for (const TrainingSystem* system : {&progr_pim, &fixed_pim})
      lines.push_back({net.title, system->title, run_of(*system, net), with_both(net)});
    for (const Techniques& used : techniques)
      lines.push_back({net.title, used.title, with(net, used), with_both(net)});
  }
  write_steps(runs, folder / "software.csv", lines);
}

// All of the part is made together, or the rows of ratios alone.
bool wants_use(const Runs& runs) {
  for (const char* id : {"fig15_util_min", "fig15_util_grows", "fig15_util_max_w16", "fig15_rc_gain_vgg19",
                         "fig15_op_gain_alexnet"})
    if (runs.wants_row(id)) return true;
  return false;
}

}  // namespace

void want_software(Runs& runs) {
  want_ratios(runs, software_ratios());
  if (!wants_use(runs)) return;
  for (const StudiedNet& net : nets) {
    for (const TrainingSystem* system : {&progr_pim, &fixed_pim}) runs.want(run_of(*system, net));
    for (const Techniques& used : techniques) runs.want(with(net, used));
    runs.want(hypothetical(with_both(net)));
    runs.want(going_sooner(with_both(net)));
  }
}

void add_software(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, software_ratios(), rows);
  if (!wants_use(runs)) return;
  add_use(runs, rows);
  add_use_gains(runs, rows);
  write_software(runs, folder);
}

}  // namespace weir::hetero_pim
