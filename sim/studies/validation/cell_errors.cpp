#include "sim/studies/validation/cell_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/llm/architecture.h"
#include "sim/app/evidence/measured_cells.h"

namespace weir {
namespace {

bool has_experts(const std::string& model) {
  Reading reading(model);
  return find_architecture(model, reading, "/model").most_experts() > 0;
}

// As number_format() of the scenario's.
std::string number_format_of(const MeasuredServer& s) {
  if (s.precision.is_null()) return s.number();
  if (s.precision.contains("expert_weights"))
    return s.precision["expert_weights"].get<std::string>() + " experts";
  return s.precision["weights"].get<std::string>();
}

}  // namespace

std::string MeanError::note(bool sample) const {
  std::string text = fmt::format("worst {:+.1f} %", worst);
  if (!sample || count < 2) return text;
  const double variance = (squares - absolute * absolute / count) / (count - 1);
  return text +
         fmt::format("; a sample: standard error {:.1f} %", std::sqrt(std::max(0.0, variance) / count));
}

Json cells_of(const std::vector<MeasuredServer>& servers, const CellErrors& errors) {
  std::map<std::string, MeasuredCell> cells;
  const auto error = [&](const char* what, const std::string& group) {
    const auto& of = errors.at(what);
    return of.contains(group) ? std::optional(of.at(group).mean()) : std::nullopt;
  };
  for (const MeasuredServer& s : servers)
    if (const auto found = errors.at("tpot").find(s.group());
        s.pools.empty() && found != errors.at("tpot").end())
      cells[s.group()] = {.device = s.device,
                          .engine = s.engine,
                          .model = s.model,
                          .weights = number_format_of(s),
                          .tensor = s.tensor,
                          .experts = has_experts(s.model),
                          .points = found->second.count,
                          .tpot_error_percent = found->second.mean(),
                          .ttft_error_percent = error("ttft", s.group())};
  std::vector<MeasuredCell> all;
  for (const auto& [group, cell] : cells) all.push_back(cell);
  return cells_json(all, "AIConfigurator, silicon_sample.csv; InferenceX (both Apache-2.0)");
}

ReproducedRow mean_of_cells(const std::vector<MeasuredServer>& servers, const CellErrors& errors) {
  std::set<std::string> cells;
  double sum = 0;
  for (const MeasuredServer& s : servers)
    if (s.pools.empty() && cells.insert(s.group()).second) sum += errors.at("tpot").at(s.group()).mean();
  ReproducedRow row;
  row.id = "frontier_tpot_cells";
  row.metric = fmt::format("mean of the cells' mean |error| of mean TPOT, %, of {} cells", cells.size());
  row.simulated = sum / static_cast<double>(cells.size());
  return row;
}

}  // namespace weir
