#include "sim/app/evidence/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles device_catalog, kernel_catalog;

namespace {

// Model, number format and engine tell more than the device, that more than the number of ranks. The same
// layout may be there with more and with fewer experts a rank: where more was measured.
auto distance(const MeasuredCell& cell, const Plan& plan, const ReplicaPlan& replica) {
  const Scenario& s = plan.scenario;
  const Sharding& cut = replica.spec.parallelism;
  const bool experts = s.model.most_experts() > 0;
  const std::int64_t expert =
      cell.scenario.value(Json::json_pointer("/serving/replicas/0/parallelism/expert"), std::int64_t{1});
  const int unlike = 4 * (cell.experts != experts) + 3 * (cell.model != s.model.name) +
                     3 * (cell.weights != number_format(s.precision)) +
                     3 * (cell.engine != replica.spec.engine.kind) +
                     2 * (cell.device != replica.rank.on->spec().kind);
  return std::tuple(unlike, std::abs(std::log2(double(cell.tensor) / cut.tensor)), expert != cut.expert,
                    -cell.points);
}

// Keys of a catalog's row whose source is an estimate. What is paid for a device is of no time.
std::vector<std::string> estimates(const EmbeddedFiles& catalog, const std::string& name) {
  std::vector<std::string> keys;
  const auto text = text_of(catalog, name);
  if (!text) return keys;
  const Json sources = embedded_json(*text, name).value("sources", Json::object());
  for (const auto& [key, source] : sources.items())
    if (source.get<std::string>().starts_with("ESTIMATE") && !key.starts_with("price")) keys.push_back(key);
  return keys;
}

}  // namespace

std::string to_string(Nearness nearness) {
  return nearness == Nearness::measured ? "measured" : nearness == Nearness::similar ? "similar" : "far";
}

double Evidence::tpot_error_percent() const {
  return nearness == Nearness::far ? of_class.tpot_error_percent : nearest.tpot_error_percent;
}

std::optional<double> Evidence::ttft_error_percent() const {
  return nearness == Nearness::far ? of_class.ttft_error_percent : nearest.ttft_error_percent;
}

Evidence evidence_of(const Plan& plan, std::size_t index, const ServedLoad& load) {
  const ReplicaPlan& replica = plan.replicas[index];
  const auto& cells = measured_cells();
  const auto nearest =
      std::ranges::min_element(cells, {}, [&](auto& cell) { return distance(cell, plan, replica); });
  const Differences differences = differences_from(*nearest, plan, index, load);
  Evidence evidence{
      .nearest = *nearest,
      .differs = differences.all(),
      .of_class = measured_class(plan.scenario.model.most_experts() > 0, replica.spec.role != Role::both),
      .load_unknown = differences.load_unknown};
  if (differences.more.empty() && differences.kinds() <= 1)
    evidence.nearness = evidence.differs.empty() ? Nearness::measured : Nearness::similar;
  return evidence;
}

std::string in_words(const Evidence& evidence) {
  const MeasuredCell& cell = evidence.nearest;
  const auto errors = [](const auto& of) {
    const std::string ttft =
        of.ttft_error_percent ? fmt::format("TTFT {:.0f} %, ", *of.ttft_error_percent) : "";
    return fmt::format("TPOT {:.0f} %, {}{} points", of.tpot_error_percent, ttft, of.points);
  };
  const std::string load = evidence.load_unknown
                               ? fmt::format(", where {:.0f} to {:.0f} requests are in flight",
                                             cell.in_flight.least, cell.in_flight.most)
                               : "";
  if (evidence.nearness == Nearness::measured)
    return fmt::format("measured: {}: {}{}", cell.words(), errors(cell), load);
  if (evidence.nearness == Nearness::similar)
    return fmt::format("similar ({:.0f} %, differs in {}): {}: {}{}", cell.tpot_error_percent,
                       fmt::join(evidence.differs, ", "), cell.words(), errors(cell), load);
  return fmt::format("far: differs from {} in {}; of all measured servers with {}: {}", cell.words(),
                     fmt::join(evidence.differs, ", "), evidence.of_class.words(), errors(evidence.of_class));
}

std::string brief(const Evidence& evidence) {
  return fmt::format("{} ({}{:.0f} %)", to_string(evidence.nearness),
                     evidence.nearness == Nearness::far ? evidence.of_class.name + ": " : "",
                     evidence.tpot_error_percent());
}

std::vector<std::string> accuracy_lines(const Plan& plan) {
  std::vector<std::string> all;
  std::set<std::string> told;
  const auto estimated = [&](const EmbeddedFiles& catalog, const std::string& name) {
    if (const auto keys = estimates(catalog, name); !keys.empty() && told.insert(name).second)
      all.push_back(fmt::format("{}, estimated: {}", name, fmt::join(keys, ", ")));
  };
  for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
    const DeviceSpec& device = plan.replicas[i].rank.on->spec();
    const std::string at = fmt::format("/serving/replicas/{}: ", i);
    all.push_back(at + in_words(evidence_of(plan, i, load_of(plan))));
    if (!device.notes.foreign_kernels.empty()) all.push_back(at + device.notes.foreign_kernels);
    estimated(device_catalog, device.kind);
    estimated(kernel_catalog, device.notes.kernels);
  }
  for (std::size_t i = 0; i < plan.training.size(); ++i)
    all.push_back(fmt::format("/training/{}: no step of training was measured", i));
  return all;
}

}  // namespace weir
