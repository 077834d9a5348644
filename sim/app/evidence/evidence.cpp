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

// Beside these a device of the scenario has its catalog's numbers.
const std::set<std::string> not_numbers = {"kind",          "count",         "profile",
                                           "speed_profile", "state_profile", "index"};

class ReplicaEvidence {
 public:
  ReplicaEvidence(const Plan& plan, std::size_t replica)
      : plan_(plan), replica_(plan.replicas[replica]), at_(fmt::format("/serving/replicas/{}", replica)) {}

  Evidence find() const {
    Evidence evidence;
    for (const MeasuredCell& cell : measured_cells())
      if (is_alike(cell) && (!evidence.nearest || distance(cell) < distance(*evidence.nearest)))
        evidence.nearest = cell;
    if (evidence.nearest) evidence.differs = differences(*evidence.nearest);
    return evidence;
  }

  // Properties that no near cell has, or none at all.
  std::vector<std::string> unmeasured() const {
    std::vector<std::string> all;
    const auto near = [&](auto has) {
      return std::ranges::any_of(measured_cells(), [&](auto& cell) { return is_alike(cell) && has(cell); });
    };
    const std::string where = fmt::format("under {} on {}", replica_.spec.engine.kind, kind());
    const int ranks = replica_.spec.parallelism.tensor;
    if (!near([](auto&) { return true; })) {
      all.push_back("any server " + where);
    } else {
      if (!near([&](auto& cell) { return cell.model == model(); })) all.push_back(model() + " " + where);
      if (!near([&](auto& cell) { return cell.weights == weights(); }))
        all.push_back(weights() + " " + where);
      if (!near([&](auto& cell) { return cell.tensor == ranks; }))
        all.push_back(fmt::format("TP{} {}", ranks, where));
    }
    for (const std::string& feature : features()) all.push_back(feature);
    if (!device().notes.foreign_kernels.empty()) all.push_back(device().notes.foreign_kernels);
    for (std::string& one : all) one = fmt::format("{}: {}", at_, one);
    return all;
  }

  const DeviceSpec& device() const { return replica_.rank.on->spec(); }

 private:
  const std::string& kind() const { return device().kind; }
  const std::string& model() const { return plan_.scenario.model.name; }
  std::string weights() const { return number_format(plan_.scenario.precision); }

  bool is_near(const MeasuredCell& cell) const {
    return cell.device == kind() && cell.engine == replica_.spec.engine.kind;
  }

  bool experts_measured() const {
    return std::ranges::any_of(measured_cells(), [&](auto& cell) { return is_near(cell) && cell.experts; });
  }

  // Dense servers say nothing of experts, and the other way round, where there are others.
  bool is_alike(const MeasuredCell& cell) const {
    return is_near(cell) && cell.experts == (has_experts() && experts_measured());
  }

  // The same layout may be there with more and with fewer experts a rank: where more was measured.
  std::tuple<bool, bool, double, std::int64_t> distance(const MeasuredCell& cell) const {
    return {cell.weights != weights(), cell.model != model(),
            std::abs(std::log2(double(cell.tensor) / replica_.spec.parallelism.tensor)), -cell.points};
  }

  std::vector<std::string> differences(const MeasuredCell& cell) const {
    std::vector<std::string> all;
    if (cell.model != model()) all.emplace_back("model");
    if (cell.weights != weights()) all.emplace_back("number format");
    if (cell.tensor != replica_.spec.parallelism.tensor) all.emplace_back("number of ranks");
    for (const std::string& feature : features()) all.push_back(feature);
    return all;
  }

  Json resolved(const std::string& pointer) const {
    return plan_.scenario.resolved.value(Json::json_pointer(pointer), Json());
  }

  // Measured servers are whole replicas in a node that generate as vLLM's and TensorRT-LLM's own defaults do.
  std::vector<std::string> features() const {
    std::vector<std::string> all;
    const ReplicaSpec& spec = replica_.spec;
    if (spec.role != Role::both) all.emplace_back("prefill and decode apart");
    if (spec.parallelism.pipeline > 1) all.emplace_back("a pipeline of stages");
    if (spread_over_nodes()) all.emplace_back("a replica over several nodes");
    if (has_experts() && !experts_measured()) all.emplace_back("a model with experts");
    if (spec.speculative) all.emplace_back("speculative decoding");
    for (const auto& [key, usual] : {std::pair("partitioning", default_of(partitioning_policies())),
                                     std::pair("prefetch", default_of(prefetch_policies()))})
      if (const Json chosen = resolved(fmt::format("{}/{}/kind", at_, key));
          chosen.is_string() && chosen != usual)
        all.push_back(fmt::format("{} {}", key, chosen.get<std::string>()));
    const Json batching = resolved(at_ + "/batching/kind");
    if (batching != "chunked_prefill" && !(batching == "orca" && spec.engine.kind == "trtllm"))
      all.push_back("batching " + batching.get<std::string>());
    if (const std::string numbers = given_numbers(); !numbers.empty()) all.push_back(numbers);
    return all;
  }

  bool spread_over_nodes() const {
    const ReplicaPlace& stages = replica_.places.front();
    const int node = stages.front().front().node;
    return std::ranges::any_of(stages, [&](const std::vector<DevicePlace>& ranks) {
      return std::ranges::any_of(ranks, [&](const DevicePlace& place) { return place.node != node; });
    });
  }

  bool has_experts() const { return plan_.scenario.model.most_experts() > 0; }

  std::string given_numbers() const {
    for (const Json& node : resolved("/cluster/nodes"))
      for (const Json& device : node["devices"])
        if (device["kind"] == kind())
          for (const auto& [key, value] : device.items())
            if (!not_numbers.contains(key) && !value.is_null())
              return fmt::format("{} of {} as the scenario has it", key, kind());
    return "";
  }

  const Plan& plan_;
  const ReplicaPlan& replica_;
  std::string at_;
};

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

Evidence evidence_of(const Plan& plan, std::size_t replica) {
  return ReplicaEvidence(plan, replica).find();
}

std::string in_words(const Evidence& evidence) {
  if (!evidence.nearest) return "no measurement near this";
  const MeasuredCell& cell = *evidence.nearest;
  const std::string ttft =
      cell.ttft_error_percent ? fmt::format("TTFT {:.0f} %, ", *cell.ttft_error_percent) : "";
  const std::string errors =
      fmt::format("TPOT {:.0f} %, {}{} points", cell.tpot_error_percent, ttft, cell.points);
  if (evidence.differs.empty()) return fmt::format("validated: {}: {}", cell.words(), errors);
  return fmt::format("nearest measurement: {} ({}), which differs in {}", cell.words(), errors,
                     fmt::join(evidence.differs, ", "));
}

std::vector<std::string> without_measurement(const Plan& plan) {
  std::vector<std::string> all;
  std::set<std::string> told;
  const auto estimated = [&](const EmbeddedFiles& catalog, const std::string& name) {
    if (const auto keys = estimates(catalog, name); !keys.empty() && told.insert(name).second)
      all.push_back(fmt::format("{}, estimated: {}", name, fmt::join(keys, ", ")));
  };
  for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
    const ReplicaEvidence replica(plan, i);
    for (std::string& line : replica.unmeasured()) all.push_back(std::move(line));
    estimated(device_catalog, replica.device().kind);
    estimated(kernel_catalog, replica.device().notes.kernels);
  }
  for (std::size_t i = 0; i < plan.training.size(); ++i)
    all.push_back(fmt::format("/training/{}: any step of training", i));
  return all;
}

}  // namespace weir
