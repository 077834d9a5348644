// Figure 10a: L3 without its scheduler, without what hides transfers, and without both.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/l3/study.h"

namespace weir::l3 {
namespace {

const std::vector<const char*> ablated_models = {"gpt175b", "gpt89b"};

// Scheduling: Sections 5.2 and 5.3 instead of a batch of prompts or of decodes. Communication: Section 5.1
// (ranksets beside each other, layers dealt out to them, prompts' keys and values stored beside the rest).
SystemRun run_of(const char* model, bool scheduling, bool communication) {
  System system = l3_system;
  if (!scheduling) system.batching = "prefill_first";
  if (!communication) system.placement = "random";
  return {.system = system, .model = model, .trace = "openr1", .overlapped = communication};
}

struct Step {
  const char *id, *title;
  bool scheduling, communication, over_scheduling, over_communication;
};
constexpr Step steps[] = {
    {"sched", "scheduling over the naive one", true, false, false, false},
    {"comm", "communication over the naive one", false, true, false, false},
    {"comm_after_sched", "communication over scheduling alone", true, true, true, false},
    {"sched_after_comm", "scheduling over communication alone", true, true, false, true},
    {"total", "both over the naive one", true, true, false, false},
};

OverSeeds gain(const Runs& runs, const char* model, const Step& step) {
  return ratio(runs, run_of(model, step.scheduling, step.communication),
               run_of(model, step.over_scheduling, step.over_communication));
}

// The lower of the models' means, in each set.
ReproducedRow& add_lower(const Runs& runs, Rows& rows, const char* id, const char* metric, const Step& step,
                         double published, double low, double high) {
  std::vector<double> paper, physical;
  std::string note;
  for (const char* model : ablated_models) {
    const OverSeeds here = gain(runs, model, step);
    paper.push_back(mean(here.paper));
    physical.push_back(mean(here.physical));
    const auto [least, most] = std::ranges::minmax(here.paper);
    note += fmt::format("{}{} {:.3g} ({} seeds: {:.3g} to {:.3g})", note.empty() ? "" : ", ",
                        model_of(model).title, paper.back(), seeds, least, most);
  }
  ReproducedRow& row = add_row(rows, id, metric, published, *std::ranges::min_element(paper),
                               *std::ranges::min_element(physical), low, high);
  row.note = note;
  return row;
}

// What of communication is worth what: each by itself taken from L3.
struct Removed {
  const char *id, *title;
  const char* placement;
  bool overlapped;
};
constexpr Removed removed[] = {
    {"placement", "layers dealt out to the ranksets, over a random rankset a request", "random", true},
    {"transfers", "transfers beside each other and the rest, over one after the other", "layer_wise", false},
};

SystemRun without(const char* model, const Removed& what) {
  SystemRun run = run_of(model, true, true);
  run.system.placement = what.placement;
  run.overlapped = what.overlapped;
  return run;
}

}  // namespace

void want_ablation(Runs& runs) {
  for (const char* model : ablated_models)
    for (const Removed& what : removed) want_seeds(runs, without(model, what));
  for (const char* model : ablated_models)
    for (const bool scheduling : {false, true})
      for (const bool communication : {false, true})
        want_seeds(runs, run_of(model, scheduling, communication));
}

void add_ablation(const Runs& runs, const Folder& folder, Rows& rows) {
  const auto add_note = [&](ReproducedRow& row, const Step& other, const char* what) {
    row.note += fmt::format("; {}:", what);
    for (const char* model : ablated_models)
      row.note += fmt::format(" {} {:.3g}", model_of(model).title, mean(gain(runs, model, other).paper));
  };
  add_note(add_lower(runs, rows, "fig10_scheduling",
                     "scheduling restored first, over the naive one: the lower of GPT-175B and 89B, OpenR1",
                     steps[0], 1.3, 1.15, 1.35),
           steps[3], "restored after communication, as the figure's legend has it");
  add_note(add_lower(runs, rows, "fig10_total", "both over the naive one: the lower of the two", steps[4],
                     1.7, 1.4, 1.9),
           steps[1], "communication alone");
  const std::size_t total = rows.size() - 1;
  OutputFile file(folder / "ablation.csv");
  file.text("model,step,ideal,physical\n");
  for (const char* model : ablated_models)
    for (const Step& step : steps) {
      const OverSeeds here = gain(runs, model, step);
      add_row(rows, fmt::format("fig10_{}_{}", step.id, model),
              fmt::format("{}: {}, OpenR1", step.title, model_of(model).title), {}, here);
      file.print("{},{},{:.5g},{:.5g}\n", model_of(model).title, step.id, mean(here.paper),
                 mean(here.physical));
    }
  file.close();
  for (const char* model : ablated_models)
    for (const Removed& what : removed) {
      const OverSeeds here = ratio(runs, run_of(model, true, true), without(model, what));
      add_row(rows, fmt::format("fig10_{}_{}", what.id, model),
              fmt::format("{}: {}, OpenR1", what.title, model_of(model).title), {}, here);
      rows[total].note += fmt::format("; {} {}: {:.3g}, physical {:.3g}", model_of(model).title, what.title,
                                      mean(here.paper), mean(here.physical));
    }
}

}  // namespace weir::l3
