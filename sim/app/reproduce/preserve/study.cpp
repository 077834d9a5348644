#include "sim/app/reproduce/preserve/study.h"

#include <utility>

namespace weir {
namespace preserve {

ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       Both simulated, std::optional<double> low, std::optional<double> high) {
  ReproducedRow row;
  row.id = std::move(id);
  row.metric = std::move(metric);
  row.paper = published;
  row.simulated = simulated.paper;
  row.physical = simulated.physical;
  row.accept_min = low;
  row.accept_max = high;
  return rows.emplace_back(std::move(row));
}

}  // namespace preserve

std::vector<ReproducedRow> reproduce_preserve(const ReproduceOptions& options) {
  using namespace preserve;
  Runs runs;
  for (const auto want : {want_lengths, want_fused, want_servers, want_exploration, want_networks})
    want(runs);
  runs.run(options);
  std::vector<ReproducedRow> rows;
  add_part(rows, "fig2", [&](auto& more) { add_footprints(options.files, more); });
  add_part(rows, "fig4", [&](auto& more) { add_lengths(runs, options.files, more); });
  add_part(rows, "fig5", [&](auto& more) { add_fused(runs, options.files, more); });
  add_part(rows, "fig6", [&](auto& more) { add_exploration(runs, options.files, more); });
  add_part(rows, "fig8", [&](auto& more) { add_networks(runs, options.files, more); });
  add_part(rows, "tab1", [&](auto& more) { add_servers(runs, more); });
  return rows;
}

}  // namespace weir
