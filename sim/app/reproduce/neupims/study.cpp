#include "sim/app/reproduce/neupims/study.h"

#include <algorithm>
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

// The paper's set has collectives that cost nothing (runs.cpp): the rows made of runs say so, with what
// NVLink would make of them.
void tell_free_collectives(const Runs& runs, Rows& rows) {
  const Runs linked = runs.with_paper_of(over_nvlink);
  Rows then;
  add_throughput(linked, then);
  add_ablation(linked, then);
  add_utilisation(linked, then);
  add_power(linked, then);
  add_layouts(linked, then);
  add_transpim(linked, {}, then);
  for (ReproducedRow& row : rows) {
    const auto found = std::ranges::find(then, row.id, &ReproducedRow::id);
    if (found == then.end()) continue;
    row.metric += "; the paper's set with free collectives";
    row.note += fmt::format("{}over NVLink 3 the paper's set gives {}", row.note.empty() ? "" : "; ",
                            found->simulated ? fmt::format("{:.4g}", *found->simulated) : "none");
  }
}

}  // namespace
}  // namespace neupims

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options) {
  using namespace neupims;
  Runs runs;
  want_throughput(runs);
  want_ablation(runs);
  want_utilisation(runs);
  want_layouts(runs);
  want_evidence(runs);
  runs.want_each(over_nvlink);
  runs.run(options);
  write_runs(runs, options.files);
  write_algorithm1(options.files);
  std::vector<ReproducedRow> rows;
  add_part(rows, "fig12", [&](auto& more) {
    add_throughput(runs, more);
    add_capacity(more);
    add_evidence(runs, more);
  });
  add_part(rows, "fig13", [&](auto& more) { add_ablation(runs, more); });
  add_part(rows, "gmlbp_load", [&](auto& more) { add_channel_loads(more); });
  add_part(rows, "tab4", [&](auto& more) { add_utilisation(runs, more); });
  add_part(rows, "tab5", [&](auto& more) { add_power(runs, more); });
  add_part(rows, "fig14", [&](auto& more) { add_layouts(runs, more); });
  add_part(rows, "fig15", [&](auto& more) { add_transpim(runs, options.files, more); });
  add_part(rows, "alg1", [&](auto& more) { add_estimates(more); });
  add_part(rows, "nvlink", [&](auto&) { tell_free_collectives(runs, rows); });
  return rows;
}

}  // namespace weir
