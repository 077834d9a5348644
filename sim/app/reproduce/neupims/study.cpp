#include "sim/app/reproduce/neupims/study.h"

#include "sim/app/output/output_file.h"

namespace weir {
namespace neupims {

void write_runs(const Runs& runs, const std::filesystem::path& folder) {
  OutputFile file(folder / "runs.csv");
  file.text(
      "device,placement,interleave,model,tensor,pipeline,dataset,batch,paper_tokens_per_s,"
      "physical_tokens_per_s\n");
  runs.each([&](const StudyPoint& p, const Measured& m) {
    file.print("{},{},{},{},{},{},{},{},{:.6g},{:.6g}\n", p.machine.device, p.machine.placement,
               p.machine.interleave, p.model, p.tensor, p.pipeline, p.dataset, p.batch,
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
  runs.run(options);
  write_runs(runs, options.files);
  std::vector<ReproducedRow> rows;
  add_throughput(runs, rows);
  add_ablation(runs, rows);
  add_channel_loads(rows);
  add_utilisation(runs, rows);
  add_layouts(runs, rows);
  add_estimates(rows);
  return rows;
}

}  // namespace weir
