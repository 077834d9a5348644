#include "sim/studies/l3/study.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir {
namespace l3 {

int seeds_of(const SystemRun& run) {
  if (run.batch > 0 || run.memory.contains("dimm_timing")) return 1;
  return run.model == "opt66b" && run.system.id != neo.id ? 5 : 3;
}

void want_seeds(Runs& runs, SystemRun run) {
  for (run.seed = 1; run.seed <= seeds_of(run); ++run.seed) runs.want(run);
}

OverSeeds sample(const Runs& runs, SystemRun run, Figure what) {
  OverSeeds found;
  for (run.seed = 1; run.seed <= seeds_of(run); ++run.seed) {
    const Measured& m = runs.found(run);
    const auto add = [&](const CaseResult& result, std::vector<double>& values, std::string& error) {
      if (result.error.empty()) return values.push_back(result.*what);
      if (error.empty()) error = fmt::format("{}: {}", name_of(run), result.error);
    };
    add(m.paper, found.paper, found.paper_error);
    if (!run.paper_only) add(m.physical, found.physical, found.physical_error);
  }
  if (!found.paper_error.empty()) found.paper.clear();
  if (!found.physical_error.empty()) found.physical.clear();
  return found;
}

OverSeeds over(const OverSeeds& a, const OverSeeds& b) {
  OverSeeds quotient{{}, {}, a.paper_error + b.paper_error, a.physical_error + b.physical_error};
  const auto divide = [](const auto& x, const auto& y, auto& into) {
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) into.push_back(x[i] / y[i]);
  };
  divide(a.paper, b.paper, quotient.paper);
  divide(a.physical, b.physical, quotient.physical);
  return quotient;
}

OverSeeds ratio(const Runs& runs, const SystemRun& a, const SystemRun& b, Figure what) {
  return over(sample(runs, a, what), sample(runs, b, what));
}

double mean(const std::vector<double>& values) {
  return mean_or_none(values).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::optional<double> mean_or_none(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

namespace {

std::string range(const std::vector<double>& values) {
  if (values.empty()) return "none";
  const auto [low, high] = std::ranges::minmax(values);
  return fmt::format("{:.3g} to {:.3g}", low, high);
}

const std::vector<StudyPart<Runs>> all_parts = {
    {{"fig2_"}, [](Runs&) {}, add_motivation},
    {{"fig8", "batch_ratio", "cpu_offload"}, want_end_to_end, add_end_to_end},
    {{"fig9"}, want_scaling, add_scaling},
    {{"fig10"}, want_ablation, add_ablation},
    {{"rfr"}, [](Runs&) {}, add_prediction},
    {{"fig11"}, want_latency, add_latency},
    {{"tab5", "pim", "hardware"}, want_hardware, add_hardware},
    {{"paper_gpu"}, want_paper_gpu, add_paper_gpu},
};

}  // namespace

ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       const OverSeeds& simulated, std::optional<double> low, std::optional<double> high) {
  ReproducedRow& row = add_row(rows, std::move(id), std::move(metric), published, mean(simulated.paper),
                               mean_or_none(simulated.physical), low, high);
  if (simulated.paper.empty()) row.simulated.reset();
  if (const std::size_t seeds = std::max(simulated.paper.size(), simulated.physical.size()); seeds > 1) {
    row.note = fmt::format("{} seeds: {}", seeds, range(simulated.paper));
    if (!simulated.physical.empty() || !simulated.physical_error.empty())
      row.note += ", physical " + range(simulated.physical);
  }
  for (const std::string& error : {simulated.paper_error, simulated.physical_error}) add_note(row, error);
  return row;
}

ReproducedRow& add_row(Rows& rows, std::string id, std::string metric, std::optional<double> published,
                       double paper, std::optional<double> physical, std::optional<double> low,
                       std::optional<double> high) {
  ReproducedRow row;
  row.id = std::move(id);
  row.metric = std::move(metric);
  row.paper = published;
  row.simulated = paper;
  row.physical = physical;
  row.accept_min = low;
  row.accept_max = high;
  return rows.emplace_back(std::move(row));
}

}  // namespace l3

std::vector<std::string> l3_ids() {
  return ids_of(l3::all_parts);
}

std::vector<ReproducedRow> reproduce_l3(const ReproduceOptions& options) {
  return reproduce_parts(l3::all_parts, options);
}

}  // namespace weir
