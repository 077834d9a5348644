#include "sim/studies/hermes/study.h"

#include <algorithm>

namespace weir {
namespace hermes {

InSets figure(const Runs& runs, const HermesRun& run, double CaseResult::*what) {
  const Measured& m = runs.found(run);
  return in_sets(m.paper, run.paper_only ? nullptr : &m.physical, what, name_of(run));
}

InSets rate(const Runs& runs, const HermesRun& run) {
  return figure(runs, run, &CaseResult::output_throughput);
}

HermesRun run_of(const OffloadSystem& system, const char* model, int batch) {
  return {.system = &system, .model = model, .batch = batch, .paper_only = batch > 1};
}

std::vector<const char*> all_models() {
  std::vector<const char*> ids;
  for (const SparseModel& model : models) ids.push_back(model.id);
  return ids;
}

void want_ratios(Runs& runs, const std::vector<RatioRow>& rows) {
  for (const RatioRow& row : rows) {
    if (!runs.wants_row(row.id)) continue;
    for (const auto& [a, b] : row.over) runs.want(a), runs.want(b);
  }
}

void add_ratios(const Runs& runs, const std::vector<RatioRow>& ratios, Rows& rows) {
  for (const RatioRow& of : ratios) {
    if (!runs.wants_row(of.id)) continue;
    std::vector<InSets> all;
    std::string each;
    for (const auto& [a, b] : of.over) {
      all.push_back(rate(runs, a) / rate(runs, b));
      if (all.back().paper)
        each +=
            fmt::format("{}{} {:.3g}", each.empty() ? "" : ", ", model_of(a.model).title, *all.back().paper);
    }
    ReproducedRow& row = add_row(rows, of.id, of.metric, of.published, mean(all), of.paper, of.physical);
    if (all.size() > 1) add_note(row, each);
    add_note(row, of.note);
  }
}

bool wants_each(const Runs& runs, const std::vector<RatioRow>& rows) {
  return std::ranges::all_of(rows, [&](const RatioRow& row) { return runs.wants_row(row.id); });
}

namespace {

const std::vector<StudyPart<Runs>> all_parts = {
    {{"dimm_gb", "gpu_fits", "state_table"}, [](Runs&) {}, add_hardware},
    {{"ilp_"}, [](Runs&) {}, add_placement},
    {{"fig4_", "hot20_"}, [](Runs&) {}, add_activity},
    {{"predictor_"}, [](Runs&) {}, add_prediction},
    {{"fig9_", "fig10_", "rate_"}, want_end_to_end, add_end_to_end},
    {{"fig11_"}, want_batches, add_batches},
    {{"fig12_", "remap_share"}, want_breakdown, add_breakdown},
    {{"fig13_"}, [](Runs&) {}, add_ablation},
    {{"fig14_", "fig15_", "fig16_"}, want_sensitivity, add_sensitivity},
    {{"fig17_", "cost_"}, want_servers, add_servers},
};

}  // namespace
}  // namespace hermes

std::vector<std::string> hermes_ids() {
  return ids_of(hermes::all_parts);
}

std::vector<ReproducedRow> reproduce_hermes(const ReproduceOptions& options) {
  return reproduce_parts(hermes::all_parts, options);
}

}  // namespace weir
