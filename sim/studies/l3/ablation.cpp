// Figure 10a: L3 without its scheduler, without what hides transfers, and without both.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

const std::vector<const char*> ablated_models = {"gpt175b", "gpt89b"};

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
  return ratio(runs, ablated_run(model, step.scheduling, step.communication),
               ablated_run(model, step.over_scheduling, step.over_communication));
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
                        model_of(model).title, paper.back(), here.paper.size(), least, most);
  }
  ReproducedRow& row = add_row(rows, id, metric, published, *std::ranges::min_element(paper),
                               *std::ranges::min_element(physical), low, high);
  row.note = note;
  return row;
}

// Other choices, each by itself in the place of L3's; the last two go beyond the paper.
struct Other {
  const char *id, *title;
  const char* placement = "layer_wise";
  bool overlapped = true;
  Json batching = Json::object();
};
const Other others[] = {
    {"placement", "layers dealt out to the ranksets, over a random rankset a request", "random"},
    {"transfers", "transfers beside each other and the rest, over one after the other", "layer_wise", false},
    {"halves",
     "two sub-batches always, over one batch where that is shorter (interleave best)",
     "layer_wise",
     true,
     {{"interleave", "best"}}},
    {"learned",
     "learned times, over the kernels' own (predictor exact)",
     "layer_wise",
     true,
     {{"predictor", "exact"}}},
};

std::string id_of(const Other& other, const char* model) {
  return fmt::format("fig10_{}_{}", other.id, model);
}

constexpr const char* total_id = "fig10_total";  // whose note has them all

bool wants_others(const Runs& runs) {
  bool any = runs.wants_row(total_id);
  for (const char* model : ablated_models)
    for (const Other& other : others) any = any || runs.wants_row(id_of(other, model));
  return any;
}

SystemRun with(const char* model, const Other& other) {
  SystemRun run = ablated_run(model, true, true);
  run.system.placement = other.placement;
  run.overlapped = other.overlapped;
  run.batching = other.batching;
  return run;
}

}  // namespace

// Scheduling: Sections 5.2 and 5.3 instead of a batch of prompts or of decodes. Communication: Section 5.1
// (ranksets beside each other, layers dealt out to them, prompts' keys and values stored beside the rest).
SystemRun ablated_run(const char* model, bool scheduling, bool communication) {
  System system = l3_system;
  if (!scheduling) system.batching = "prefill_first";
  if (!communication) system.placement = "random";
  return {.system = system, .model = model, .trace = "openr1", .overlapped = communication};
}

void want_ablation(Runs& runs) {
  if (wants_others(runs))
    for (const char* model : ablated_models)
      for (const Other& other : others) want_seeds(runs, with(model, other));
  for (const char* model : ablated_models)
    for (const bool scheduling : {false, true})
      for (const bool communication : {false, true})
        want_seeds(runs, ablated_run(model, scheduling, communication));
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
  add_note(add_lower(runs, rows, total_id, "both over the naive one: the lower of the two", steps[4], 1.7,
                     1.4, 1.9),
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
  if (!wants_others(runs)) return;
  for (const char* model : ablated_models)
    for (const Other& other : others) {
      const OverSeeds here = ratio(runs, ablated_run(model, true, true), with(model, other));
      add_row(rows, id_of(other, model), fmt::format("{}: {}, OpenR1", other.title, model_of(model).title),
              {}, here);
      rows[total].note += fmt::format("; {} {}: {:.3g}, physical {:.3g}", model_of(model).title, other.title,
                                      mean(here.paper), mean(here.physical));
    }
}

}  // namespace weir::l3
