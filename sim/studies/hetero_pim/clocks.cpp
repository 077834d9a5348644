// Figures 11 and 17: pairs and cores at 1, 2 and 4 times their clocks: time, energy and power.
#include <algorithm>

#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

constexpr int multiples[] = {1, 2, 4};

std::vector<StepRatio> clock_ratios() {
  std::vector<StepRatio> all;
  for (const int multiple : {2, 4})
    for (const bool most : {false, true})
      all.push_back({.id = fmt::format("fig11_{}x_{}", multiple, most ? "max" : "min"),
                     .metric = fmt::format("speed-up of {} times the clocks, {} of the nets", multiple,
                                           most ? "largest" : "least"),
                     .published = {},
                     .figure = &CaseResult::step_s,
                     .of = over_nets([](const StudiedNet& net) { return at_clock(net, 1); },
                                     [=](const StudiedNet& net) { return at_clock(net, multiple); }),
                     .picked = most ? largest : least,
                     .bounds = multiple == 2 ? Bounds{1.9, 2.0} : Bounds{3.7, 4.0},
                     .note = "the paper has bars alone; what is no candidate stays on the CPU, at its clock",
                     .variants = {sooner}});
  const struct {
    int multiple;
    const char* net;
    double published;
  } over_gpu[] = {{2, "vgg19", 1.36}, {2, "alexnet", 1.17}, {4, "vgg19", 1.37}, {4, "alexnet", 1.60}};
  for (const auto& [multiple, id, published] : over_gpu) {
    const StudiedNet& net = net_of(id);
    all.push_back({fmt::format("fig11_{}x_over_gpu_{}", multiple, id),
                   fmt::format("speed-up at {} times the clocks over the GPU, {}", multiple, net.title),
                   published,
                   &CaseResult::step_s,
                   {{net.title, run_of(gpu, net), at_clock(net, multiple)}},
                   least,
                   {},
                   "no bounds: the pairs' peak stays an order below the GPU's at any of these clocks"});
  }
  return all;
}

// At which a net's energy-delay product is least.
double best_clock(const Runs& runs, const StudiedNet& net, CaseResult Measured::*set) {
  return *std::ranges::min_element(multiples, {},
                                   [&](int multiple) { return edp(runs.at(at_clock(net, multiple)).*set); });
}

void add_edp(const Runs& runs, Rows& rows) {
  constexpr const char* id = "fig17_edp_best";
  if (!runs.wants_row(id)) return;
  std::vector<InSets> all;
  std::vector<std::pair<std::string, InSets>> named;
  for (const StudiedNet& net : nets) {
    all.push_back({best_clock(runs, net, &Measured::paper), best_clock(runs, net, &Measured::physical)});
    named.emplace_back(net.title, all.back());
  }
  ReproducedRow& row = add_row(rows, id, "clock multiple of the least energy x time, least of the nets", 4,
                               least(all), exactly(4));
  row.note = listed(named);
  add_note(
      row,
      "an operation takes as much energy at any clock; with a voltage that follows the clock 4 need not win");
}

void add_power(const Runs& runs, Rows& rows) {
  std::vector<InSets> all;
  std::vector<std::pair<std::string, InSets>> named;
  const struct {
    const char *id, *metric;
    double published;
    InSets (*picked)(const std::vector<InSets>&);
  } power[] = {{"fig17_gpu_power_over_4x_min",
                "dynamic power of the GPU over Hetero PIM's at 4x, least of the nets", 1.5, least},
               {"fig17_gpu_power_over_4x_max", "the same, largest", 2.6, largest}};
  for (const auto& of : power) {
    if (!runs.wants_row(of.id)) continue;
    if (all.empty())
      for (const StudiedNet& net : nets) {
        const Measured &on_gpu = runs.at(run_of(gpu, net)), &fast = runs.at(at_clock(net, 4));
        all.push_back(
            {watts(on_gpu.paper) / watts(fast.paper), watts(on_gpu.physical) / watts(fast.physical)});
        named.emplace_back(net.title, all.back());
      }
    ReproducedRow& row = add_row(rows, of.id, of.metric, of.published, of.picked(all));
    row.note = listed(named);
    add_note(
        row,
        "no bounds: the paper publishes no watts, and ours leave out what the host draws while it waits");
  }
}

void write_clocks(const Runs& runs, const Folder& folder) {
  std::vector<StepLine> lines;
  for (const StudiedNet& net : nets) {
    lines.push_back({net.title, "GPU", run_of(gpu, net), at_clock(net, 1)});
    for (const int multiple : multiples)
      lines.push_back({net.title, fmt::format("{}x", multiple), at_clock(net, multiple), at_clock(net, 1)});
  }
  write_steps(runs, folder / "clocks.csv", lines);
}

bool wants_clocks_csv(const Runs& runs) {
  return runs.wants_row("fig17_edp_best");
}

}  // namespace

void want_clocks(Runs& runs) {
  want_ratios(runs, clock_ratios());
  const bool power =
      runs.wants_row("fig17_gpu_power_over_4x_min") || runs.wants_row("fig17_gpu_power_over_4x_max");
  for (const StudiedNet& net : nets) {
    if (power || wants_clocks_csv(runs)) runs.want(run_of(gpu, net)), runs.want(at_clock(net, 4));
    for (const int multiple : multiples)
      if (wants_clocks_csv(runs)) runs.want(at_clock(net, multiple));
  }
}

void add_clocks(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, clock_ratios(), rows);
  add_edp(runs, rows);
  add_power(runs, rows);
  if (wants_clocks_csv(runs)) write_clocks(runs, folder);
}

}  // namespace weir::hetero_pim
