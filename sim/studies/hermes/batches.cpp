// Figure 11: batches of 1 to 16 requests.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/prices.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

struct Compared {
  const OffloadSystem* system;
  bool opt_alone;
};
const Compared compared[] = {{&hermes_system, false},
                             {&base_system, false},
                             {&host_system, false},
                             {&flexgen, true},
                             {&deja_vu, true}};

InSets over(const Runs& runs, const OffloadSystem& other, const char* model, int batch) {
  return rate(runs, hermes_system, model, batch) / rate(runs, other, model, batch);
}

InSets mean_over_batches(const Runs& runs, const OffloadSystem& other,
                         const std::vector<const char*>& names) {
  return paper_alone(mean_over(names, [&](const char* model) {
    std::vector<InSets> all;
    for (const int batch : batches) all.push_back(over(runs, other, model, batch));
    return mean(all);
  }));
}

void add_base_gap(const Runs& runs, Rows& rows) {
  std::vector<double> gaps;
  std::string each;
  for (const int batch : batches) {
    if (batch > 8) break;
    gaps.push_back(mean_over(large_models, [&](const char* m) {
                     return over(runs, base_system, m, batch);
                   }).paper.value_or(0));
    each += fmt::format("{}{:.3g} at {}", each.empty() ? "" : ", ", gaps.back(), batch);
  }
  const auto least = std::ranges::min_element(gaps) - gaps.begin();
  add_row(rows, "fig11_base_gap_min_batch",
          "batch of 1, 2, 4, 8 at which Hermes over base is least, mean of four models", 2,
          {static_cast<double>(batches[least]), {}})
      .note = each + "; no bounds: this figure chose 0.5 MAC a cycle and multiplier over 1";
}

void add_host_gap(const Runs& runs, Rows& rows) {
  bool grows = true;
  std::string each;
  for (const char* model : all_models()) {
    const InSets one = over(runs, host_system, model, 1), many = over(runs, host_system, model, 16);
    grows = grows && one.paper && many.paper && *many.paper > *one.paper;
    each += fmt::format("{}{} {} to {}", each.empty() ? "" : ", ", model_of(model).title, csv(one.paper),
                        csv(many.paper));
  }
  add_row(rows, "fig11_host_gap_grows", "1 if Hermes over host is larger at batch 16 than at 1, every model",
          1, {grows ? 1. : 0., {}}, {1, 1})
      .note = each;
}

}  // namespace

void want_batches(Runs& runs) {
  for (const Compared& c : compared)
    for (const SparseModel& model : models)
      for (const int batch : batches)
        if (model.opt || !c.opt_alone) runs.want(run_of(*c.system, model.id, batch));
}

void add_batches(const Runs& runs, const Folder& folder, Rows& rows) {
  add_base_gap(runs, rows);
  add_host_gap(runs, rows);
  constexpr const char* unreachable =
      "no bounds: as fig9_over_accelerate, the paper's FlexGen and Deja Vu are slower than their link";
  add_row(rows, "fig11_over_flexgen", "Hermes over FlexGen, mean over batches and OPT", 149,
          mean_over_batches(runs, flexgen, opt_models));
  add_note(rows.back(), unreachable);
  add_row(rows, "fig11_over_dejavu", "Hermes over Deja Vu, mean over batches and OPT", 75.2,
          mean_over_batches(runs, deja_vu, opt_models));
  add_note(rows.back(), unreachable);
  add_row(rows, "fig11_over_host", "Hermes over Hermes-host, mean over batches and six models", 7.17,
          mean_over_batches(runs, host_system, all_models()));
  add_note(rows.back(), "no bounds: 13B models are bound by the GPU in both");
  OutputFile file(folder / "batches.csv");
  file.print("model,batch,system,tokens_per_s,{},why_none\n", price_columns);
  for (const SparseModel& model : models)
    for (const int batch : batches)
      for (const Compared& c : compared) {
        if (c.opt_alone && !model.opt) continue;
        const HermesRun run = run_of(*c.system, model.id, batch);
        const InSets here = rate(runs, run);
        std::string why = here.error;
        std::ranges::replace(why, ',', ';');
        file.print("{},{},{},{},{},{}\n", model.title, batch, c.system->title, csv(here.paper),
                   prices_of(runs, run), here.paper ? "" : why);
      }
  file.close();
}

}  // namespace weir::hermes
