#include "sim/studies/preserve/study.h"

#include <algorithm>
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

ReproducedRow& add_fitted_row(Rows& rows, std::string id, std::string metric, double published,
                              double simulated) {
  ReproducedRow& row = add_row(rows, std::move(id), std::move(metric), published, {simulated, 0});
  row.physical.reset();
  return row;
}

double gain(const Runs& runs, const Run& without, const Run& with, CaseResult Measured::*set) {
  return (runs.at(without).*set).e2e_mean_ms / (runs.at(with).*set).e2e_mean_ms;
}

namespace {

const std::vector<StudyPart<Runs>> all_parts = {
    {{"fig2"}, [](Runs&) {}, add_footprints}, {{"fig4"}, want_lengths, add_lengths},
    {{"fig5"}, want_fused, add_fused},        {{"fig6", "fig7"}, want_exploration, add_exploration},
    {{"bound"}, want_bound, add_bound},       {{"fig8", "fig10"}, want_networks, add_networks},
    {{"tab1"}, want_table1, add_table1},
};

}  // namespace
}  // namespace preserve

std::vector<std::string> preserve_ids() {
  return ids_of(preserve::all_parts);
}

std::vector<ReproducedRow> reproduce_preserve(const ReproduceOptions& options) {
  return reproduce_parts(preserve::all_parts, options);
}

}  // namespace weir
