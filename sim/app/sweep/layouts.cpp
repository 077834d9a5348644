// "layouts": "all": every tensor x pipeline x replicas that uses all devices, of a model with experts also
// every attention_data and expert. Which of them the model and the memory allow, read_plan says best:
// points.cpp asks it and keeps its reasons.
#include <algorithm>

#include "models/llm/architecture.h"
#include "sim/app/sweep/sweep_spec.h"

namespace weir {
namespace {

const std::string group = "/serving/replicas/0";

constexpr std::int64_t largest_degree = 4096;  // that a scenario's parallelism may have
constexpr std::int64_t largest_count = 65536;  // likewise; what is beyond, the scenario's own reading refuses

std::int64_t count_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer()
             ? std::clamp<std::int64_t>(it->get<std::int64_t>(), 0, largest_count)
             : 1;
}

const Json& below(const Json& object, const char* key) {
  static const Json nothing;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() ? *it : nothing;
}

// Counts devices of the kind that the group asks for, less what the other groups of that kind (or of none)
// take.
std::int64_t devices_for_group(const Json& scenario) {
  const Json& replicas = below(below(scenario, "serving"), "replicas");
  const Json kind = replicas.is_array() && !replicas.empty() ? below(replicas[0], "device") : Json();
  std::int64_t devices = 0;
  for (const Json& node : below(below(scenario, "cluster"), "nodes"))
    for (const Json& entry : below(node, "devices"))
      if (entry.is_object() && (kind.is_null() || below(entry, "kind") == kind))
        devices += count_of(node, "count") * count_of(entry, "count");
  for (std::size_t i = 1; replicas.is_array() && i < replicas.size(); ++i) {
    const Json& other = replicas[i];
    const Json& cut = below(other, "parallelism");
    const Json& other_kind = below(other, "device");
    if (other.is_object() && (kind.is_null() || other_kind.is_null() || other_kind == kind))
      devices -= count_of(other, "count") * (cut.is_object() ? count_of(cut, "tensor") : 1) *
                 (cut.is_object() ? count_of(cut, "attention_data") * count_of(cut, "pipeline") : 1);
  }
  return devices;
}

// That a scenario's parallelism may have.
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= std::min(n, largest_degree); ++d)
    if (n % d == 0) all.push_back(d);
  return all;
}

bool has_experts(const Json& scenario, const std::filesystem::path& file) {
  const Json& model = below(scenario, "model");
  Reading reading(file.string());  // what is wrong with the model, the scenario's own reading says
  return read_model(model, reading, "/model").most_experts() > 0;
}

}  // namespace

SweepAxis layouts_of(const Json& scenario, const std::filesystem::path& scenario_file) {
  SweepAxis axis;
  axis.pointers = {group + "/parallelism/tensor", group + "/parallelism/pipeline",
                   group + "/parallelism/expert", group + "/count"};
  const std::int64_t devices = std::min(devices_for_group(scenario), largest_count);
  const bool experts = has_experts(scenario, scenario_file);
  if (experts) axis.pointers.push_back(group + "/parallelism/attention_data");
  axis.given_at.assign(axis.pointers.size(), "/layouts");
  for (const std::int64_t tensor : divisors(devices))
    for (const std::int64_t pipeline : divisors(devices / tensor))
      for (const std::int64_t data :
           experts ? divisors(devices / tensor / pipeline) : std::vector<std::int64_t>{1})
        for (const std::int64_t expert : experts ? divisors(tensor * data) : std::vector<std::int64_t>{1}) {
          std::vector<Json> choice = {tensor, pipeline, expert, devices / (tensor * pipeline * data)};
          if (experts) choice.push_back(data);
          axis.choices.push_back(std::move(choice));
        }
  return axis;
}

bool speaks_of_layout(const Problem& problem) {
  return problem.pointer == group || problem.pointer.starts_with(group + "/parallelism") ||
         (problem.misfit && problem.pointer.starts_with(group + "/"));
}

}  // namespace weir
