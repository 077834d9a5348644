#include "sim/app/reproduce/neupims/study.h"

#include "sim/app/output/output_file.h"

namespace weir {
namespace neupims {

void write_runs(const Runs& runs, const std::filesystem::path& folder) {
  OutputFile file(folder / "runs.csv");
  file.text(
      "device,placement,interleave,model,tensor,pipeline,dataset,batch,variant,paper_tokens_per_s,"
      "physical_tokens_per_s\n");
  runs.each([&](const StudyPoint& p, const Measured& m) {
    file.print("{},{},{},{},{},{},{},{},{},{:.6g},{:.6g}\n", p.machine.device, p.machine.placement,
               p.machine.interleave, p.model, p.tensor, p.pipeline, p.dataset, p.batch, p.variant.name,
               m.paper.output_throughput, m.physical.output_throughput);
  });
  file.close();
}

namespace {

void none(Runs&) {}

// The last has no rows: what is left for whoever draws or reads on, of all runs.
const std::vector<StudyPart<Runs>> all_parts = {
    {{"fig12"},
     [](Runs& runs) { want_throughput(runs), want_evidence(runs); },
     [](const Runs& runs, const std::filesystem::path&, ReproducedRows& rows) {
       add_throughput(runs, rows);
       add_capacity(rows);
       add_evidence(runs, rows);
     }},
    {{"fig13", "gmlbp_min"},
     want_ablation,
     [](const Runs& runs, const auto&, auto& rows) { add_ablation(runs, rows); }},
    {{"gmlbp_load"}, none, [](const Runs&, const auto&, auto& rows) { add_channel_loads(rows); }},
    {{"tab4"},
     want_utilisation,
     [](const Runs& runs, const auto&, auto& rows) { add_utilisation(runs, rows); }},
    {{"tab5"}, want_utilisation, [](const Runs& runs, const auto&, auto& rows) { add_power(runs, rows); }},
    {{"fig14"}, want_layouts, [](const Runs& runs, const auto&, auto& rows) { add_layouts(runs, rows); }},
    {{"fig15"}, want_throughput, add_transpim},
    {{"alg1"}, none, [](const Runs&, const auto&, auto& rows) { add_estimates(rows); }},
    {{"runs.csv"}, none, [](const Runs& runs, const auto& folder, auto&) { write_runs(runs, folder); }},
};

}  // namespace
}  // namespace neupims

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options) {
  neupims::write_algorithm1(options.files);
  return reproduce_parts(neupims::all_parts, options);
}

}  // namespace weir
