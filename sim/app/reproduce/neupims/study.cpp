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

}  // namespace neupims

std::vector<ReproducedRow> reproduce_neupims(const ReproduceOptions& options) {
  using namespace neupims;
  Runs runs;
  want_throughput(runs);
  want_ablation(runs);
  want_utilisation(runs);
  want_layouts(runs);
  want_evidence(runs);
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
  return rows;
}

}  // namespace weir
