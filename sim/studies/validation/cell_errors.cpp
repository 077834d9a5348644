#include "sim/studies/validation/cell_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/llm/architecture.h"
#include "sim/app/evidence/measured_cells.h"
#include "sim/plan/engine_catalog.h"

namespace weir {
namespace {

// A model that Weir does not know has none here; its server fails where it is played.
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

const MeanError* error_of(const CellErrors& errors, const std::string& what, const std::string& group) {
  const auto of = errors.find(what);
  if (of == errors.end()) return nullptr;
  const auto found = of->second.find(group);
  return found == of->second.end() ? nullptr : &found->second;
}

std::optional<double> mean_of(const MeanError* error) {
  return error ? std::optional(error->mean()) : std::nullopt;
}

std::string class_of(const MeasuredServer& s) {
  return !s.pools.empty() ? "prompts apart" : has_experts(s.model) ? "experts" : "dense";
}

std::vector<MeasuredClass> classes_of(const std::vector<SimulatedServer>& servers, const CellErrors& errors) {
  std::map<std::string, std::set<std::string>> groups;
  for (const SimulatedServer& s : servers) groups[class_of(s.measured)].insert(s.measured.group());
  std::vector<MeasuredClass> classes;
  for (const auto& [name, of] : groups) {
    MeanError tpot, ttft;
    for (const std::string& group : of)
      for (const auto& [what, sum] : {std::pair("tpot", &tpot), std::pair("ttft", &ttft)})
        if (const MeanError* error = error_of(errors, what, group)) sum->add(*error);
    if (tpot.count > 0)
      classes.push_back({name, tpot.count, tpot.mean(), mean_of(ttft.count > 0 ? &ttft : nullptr)});
  }
  return classes;
}

}  // namespace

void MeanError::add(const MeanError& other) {
  absolute += other.absolute;
  squares += other.squares;
  signed_sum += other.signed_sum;
  if (std::abs(other.worst) > std::abs(worst)) worst = other.worst;
  count += other.count;
}

std::string MeanError::note(bool sample) const {
  std::string text = fmt::format("worst {:+.1f} %", worst);
  if (!sample || count < 2) return text;
  const double variance = (squares - absolute * absolute / count) / (count - 1);
  return text +
         fmt::format("; a sample: standard error {:.1f} %", std::sqrt(std::max(0.0, variance) / count));
}

Json cells_of(const std::vector<SimulatedServer>& servers, const CellErrors& errors) {
  std::map<std::string, MeasuredCell> cells;
  for (const auto& [s, scenario, failure] : servers) {
    const MeanError* tpot = error_of(errors, "tpot", s.group());
    if (!s.pools.empty() || !tpot || !failure.empty()) continue;
    const MeanError* ttft = error_of(errors, "ttft", s.group());
    Json without_load = scenario;
    without_load.erase("workload");
    MeasuredCell& cell =
        cells
            .try_emplace(s.group(), MeasuredCell{.device = s.device,
                                                 .engine = find_engine(s.engine, std::nullopt)->family->kind,
                                                 .model = s.model,
                                                 .weights = number_format_of(s),
                                                 .tensor = s.tensor,
                                                 .experts = has_experts(s.model),
                                                 .points = tpot->count,
                                                 .tpot_error_percent = tpot->mean(),
                                                 .ttft_error_percent = mean_of(ttft),
                                                 .scenario = without_load})
            .first->second;
    cell.add(without_load);
    for (const double share : {s.load.shortest, 1.0}) {
      cell.input_tokens.add(std::floor(share * static_cast<double>(s.input_tokens)));
      cell.output_tokens.add(std::floor(share * static_cast<double>(s.output_tokens)));
    }
    cell.in_flight.add(static_cast<double>(s.concurrency));
  }
  std::vector<MeasuredCell> all;
  for (const auto& [group, cell] : cells) all.push_back(cell);
  return cells_json(all, classes_of(servers, errors),
                    "AIConfigurator, silicon_sample.csv; InferenceX (both Apache-2.0)");
}

ReproducedRow mean_of_cells(const std::vector<SimulatedServer>& servers, const CellErrors& errors) {
  std::set<std::string> cells;
  double sum = 0;
  bool failed = false;
  for (const auto& [s, scenario, failure] : servers) {
    if (!s.pools.empty()) continue;
    failed = failed || !failure.empty();
    if (const MeanError* error = error_of(errors, "tpot", s.group()); error && cells.insert(s.group()).second)
      sum += error->mean();
  }
  ReproducedRow row;
  row.id = "frontier_tpot_cells";
  row.metric = fmt::format("mean of the cells' mean |error| of mean TPOT, %, of {} cells", cells.size());
  if (!failed && !cells.empty()) row.simulated = sum / static_cast<double>(cells.size());
  return row;
}

}  // namespace weir
