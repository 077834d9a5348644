#include "sim/studies/neupims/study.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/app/output/output_file.h"

namespace weir {
namespace neupims {

void write_runs(const Runs& runs, const std::filesystem::path& folder) {
  OutputFile file(folder / "runs.csv");
  file.text(
      "device,placement,interleave,model,tensor,pipeline,dataset,batch,variant,paper_tokens_per_s,"
      "physical_tokens_per_s\n");
  runs.each([&](const StudyPoint& p, const Measured& m) {
    file.print("{},{},{},{},{},{},{},{},{},{:.6g},{}\n", p.machine.device, p.machine.placement,
               p.machine.interleave, p.model, p.tensor, p.pipeline, p.dataset, p.batch, p.variant.name,
               m.paper.output_throughput,
               p.paper_only ? "" : fmt::format("{:.6g}", m.physical.output_throughput));
  });
  file.close();
}

namespace {

// The paper's set has collectives that cost nothing (runs.cpp): rows made of runs say so, with what NVLink
// would make of them.
void want_linked(Runs& runs, void (*want)(Runs&)) {
  want(runs);
  runs.want_each(over_nvlink);
}

void tell_links(const Runs& runs, Rows& rows, const std::function<void(const Runs&, Rows&)>& add) {
  Rows then;
  add(runs.with_paper_of(over_nvlink), then);
  for (ReproducedRow& row : rows) {
    const auto found = std::ranges::find(then, row.id, &ReproducedRow::id);
    if (found == then.end()) continue;
    row.metric += "; the paper's set with free collectives";
    row.note += fmt::format("{}over NVLink 3 the paper's set gives {}", row.note.empty() ? "" : "; ",
                            found->simulated ? fmt::format("{:.4g}", *found->simulated) : "none");
  }
}

template <void (*want)(Runs&)>
void want_both(Runs& runs) {
  want_linked(runs, want);
}

template <void (*add)(const Runs&, Rows&)>
void add_both(const Runs& runs, const std::filesystem::path&, Rows& rows) {
  add(runs, rows);
  tell_links(runs, rows, add);
}

void none(Runs&) {}

// The last has no rows: what is left for whoever draws or reads on, of all runs.
const std::vector<StudyPart<Runs>> all_parts = {
    {{"fig12"},
     [](Runs& runs) {
       want_throughput(runs);
       want_linked(runs, want_evidence);
     },
     [](const Runs& runs, const std::filesystem::path& folder, ReproducedRows& rows) {
       add_both<add_throughput>(runs, folder, rows);
       add_capacity(rows);
       add_evidence(runs, rows);
     }},
    {{"fig13", "gmlbp_min"}, want_both<want_ablation>, add_both<add_ablation>},
    {{"gmlbp_load"}, none, [](const Runs&, const auto&, auto& rows) { add_channel_loads(rows); }},
    {{"tab4"}, want_both<want_utilisation>, add_both<add_utilisation>},
    {{"tab5"}, want_both<want_utilisation>, add_both<add_power>},
    {{"fig14"}, want_both<want_layouts>, add_both<add_layouts>},
    {{"fig15"},
     want_both<want_throughput>,
     [](const Runs& runs, const std::filesystem::path& folder, ReproducedRows& rows) {
       add_transpim(runs, folder, rows);
       tell_links(runs, rows, [](const Runs& linked, Rows& then) { add_transpim(linked, {}, then); });
     }},
    {{"alg1"}, none, [](const Runs&, const auto&, auto& rows) { add_estimates(rows); }},
    {{"runs.csv"}, none, [](const Runs& runs, const auto& folder, auto&) { write_runs(runs, folder); }},
};

}  // namespace
}  // namespace neupims

std::vector<std::string> neupims_ids() {
  return ids_of(neupims::all_parts);
}

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options) {
  neupims::write_algorithm1(options.files);
  return reproduce_parts(neupims::all_parts, options);
}

}  // namespace weir
