// Figure 17: TensorRT-LLM on A100s of 40 GB, by the engine's preset that is calibrated on its servers.
#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/prices.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

struct Layout {
  const char *id, *title;
  int tensor, pipeline;
  bool judged;
};
// 64 heads cannot be dealt out to five GPUs, so these are stages; 160 GB also hold it as four ranks.
constexpr Layout layouts[] = {{"pp5", "5 A100 (PP5)", 1, 5, true}, {"tp4", "4 A100 (TP4)", 4, 1, false}};
constexpr int server_batches[] = {1, 16};

InSets server_rate(const Runs& runs, const ServerRun& run) {
  const CaseResult& found = runs.found(run).paper;
  if (!found.error.empty()) return {{}, {}, found.error};
  return {found.output_throughput, {}};
}

std::string id_of(const Layout& layout, int batch) {
  return fmt::format("fig17_b{}_{}", batch, layout.id);
}

bool wants_all(const Runs& runs) {
  bool all = true;
  for (const Layout& layout : layouts)
    for (const int batch : server_batches) all = all && runs.wants_row(id_of(layout, batch));
  return all;
}

}  // namespace

void want_servers(Runs& runs) {
  for (const int batch : server_batches)
    for (const Layout& layout : layouts) {
      if (!runs.wants_row(id_of(layout, batch))) continue;
      runs.want(run_of(hermes_system, "llama2_70b", batch));
      runs.want(ServerRun{layout.tensor, layout.pipeline, batch});
    }
}

void add_servers(const Runs& runs, const Folder& folder, Rows& rows) {
  for (const Layout& layout : layouts)
    for (const int batch : server_batches) {
      if (!runs.wants_row(id_of(layout, batch))) continue;
      const InSets ratio = rate(runs, hermes_system, "llama2_70b", batch) /
                           server_rate(runs, {layout.tensor, layout.pipeline, batch});
      std::optional<double> published;
      if (layout.judged) published = batch == 1 ? 0.791 : 0.244;
      Bounds bounds;
      if (layout.judged) bounds = batch == 1 ? Bounds{1.6, 2.5} : Bounds{0.45, 0.9};
      add_row(rows, id_of(layout, batch),
              fmt::format("Hermes over TensorRT-LLM on {}: LLaMA2-70B, batch {}", layout.title, batch),
              published, {ratio.paper, {}, ratio.error}, bounds)
          .note +=
          layout.judged
              ? "five A100s are five stages, of which one works at a time on a batch: the paper's needs "
                "A100s that work side by side, as TP4's do"
              : "no bounds: a layout that the paper does not name";
    }
  add_row(rows, "cost_over_tensorrt", "$2,500 over $50,000", 0.05,
          {hermes_dollars / tensorrt_dollars, hermes_dollars / tensorrt_dollars})
      .note = "no bounds: both are the paper's; the CSVs have the catalog's prices an hour beside them";
  if (!wants_all(runs)) return;
  OutputFile file(folder / "servers.csv");
  file.print("system,batch,tokens_per_s,{}\n", price_columns);
  for (const int batch : server_batches) {
    const HermesRun hermes = run_of(hermes_system, "llama2_70b", batch);
    file.print("Hermes,{},{},{}\n", batch, csv(rate(runs, hermes).paper), prices_of(runs, hermes));
    for (const Layout& layout : layouts) {
      const ServerRun run{layout.tensor, layout.pipeline, batch};
      const std::optional<double> dollars = layout.judged ? std::optional(tensorrt_dollars) : std::nullopt;
      file.print("{},{},{},{}\n", layout.title, batch, csv(server_rate(runs, run).paper),
                 prices(runs.found(run).paper, dollars));
    }
  }
  file.close();
}

}  // namespace weir::hermes
