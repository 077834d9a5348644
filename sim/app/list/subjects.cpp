#include "sim/app/list/subjects.h"

#include <fmt/format.h>

#include <map>

#include "models/memory/memory_spec.h"
#include "models/nn/net_catalog.h"
#include "policies/placement/neurons/neuron_placement.h"
#include "policies/speculation/speculation.h"
#include "sim/app/output/rows/metric_rows.h"
#include "sim/plan/plan.h"

namespace weir {

extern const EmbeddedFiles device_catalog, model_catalog, interconnect_catalog, memory_catalog,
    named_length_files;

namespace {

using Entries = std::vector<ListEntry>;

template <class Row>
void append(Entries& entries, const std::string& family, const std::vector<Row>& table) {
  for (const Row& row : table) entries.push_back({family, row.name, row.summary});
}

Entries devices() {
  Entries entries;
  for (const std::string& name : device_names()) entries.push_back({"devices", name, device_summary(name)});
  return entries;
}

Architecture architecture(const std::string& name) {
  Reading reading("");
  const Architecture model = find_architecture(name, reading, "");
  reading.finish();
  return model;
}

Entries models() {
  Entries entries;
  for (const std::string& name : architecture_names()) {
    const Architecture m = architecture(name);
    std::string summary = fmt::format("{:.1f} B parameters", static_cast<double>(m.parameters()) / 1e9);
    if (const std::int64_t experts = m.most_experts(); experts > 0)
      summary += fmt::format(", {:.1f} B active: {} of {} experts a token",
                             static_cast<double>(m.active_parameters()) / 1e9,
                             m.most([](const LayerKind& layer) { return layer.moe.active; }), experts);
    const HeadCounts heads = m.most_heads();
    const auto* latent = std::get_if<LatentAttention>(&m.layers.front().attention);
    summary += fmt::format(", {} layers of {}, ", m.layer_count(), m.hidden);
    summary += latent ? fmt::format("{} heads over latents of {}", heads.query, latent->latent())
                      : fmt::format("{} query and {} KV heads", heads.query, heads.kv);
    entries.push_back({"model", name, summary});
  }
  for (const auto& [name, summary] : net_summaries()) entries.push_back({"net", name, summary});
  return entries;
}

Entries policies() {
  Entries entries;
  append(entries, "batching", batching_policies());
  append(entries, "partitioning", partitioning_policies());
  append(entries, "neurons", neuron_placement_policies());
  append(entries, "placement", placement_policies());
  append(entries, "prefetch", prefetch_policies());
  append(entries, "routing", routing_policies());
  append(entries, "speculative", speculations());
  append(entries, "engine", engines());
  append(entries, "runtime", runtime_policies());
  return entries;
}

Entries workloads() {
  Entries entries;
  append(entries, "requests", request_kinds());
  append(entries, "arrivals", arrival_kinds());
  append(entries, "activity", activity_kinds());
  append(entries, "name", named_lengths());
  return entries;
}

Entries interconnects() {
  Entries entries;
  for (const std::string& name : interconnect_names()) {
    const LinkSpec links = find_interconnect(name);
    entries.push_back({"interconnect", name,
                       links.bandwidth.value() > 0
                           ? fmt::format("{:g} GB/s a device and direction, {:g} us",
                                         links.bandwidth.value() / 1e9, links.latency.value() * 1e6)
                           : "devices that are not joined"});
  }
  return entries;
}

Entries networks() {
  Entries entries;
  append(entries, "topology", topologies());
  return entries;
}

Entries memories() {
  Entries entries;
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    entries.push_back({"bank_model", name,
                       fmt::format("{}; {:.4g} GB/s, {} banks", memory.title, memory.peak().value() / 1e9,
                                   memory.organisation.banks())});
  }
  return entries;
}

Entries metrics() {
  static const std::map<Better, const char*> directions = {
      {Better::more, "; more is better"}, {Better::less, "; less is better"}, {Better::neither, ""}};
  Entries entries;
  const auto add = [&](const char* family, const std::vector<MetricRow>& table) {
    for (const MetricRow& row : table)
      entries.push_back({family, row.name(), row.heading() + directions.at(row.better)});
  };
  add("run", serving_metrics());
  add("point", sweep_metrics());
  add("job", training_metrics());
  return entries;
}

}  // namespace

std::string place_of(const std::string& family) {
  static const std::map<std::string, std::string> places = {
      {"devices", "/cluster/nodes/0/devices/0/kind"},
      {"model", "/model"},
      {"net", "/training/0/model"},
      {"runtime", "/training/0/runtime/kind"},
      {"batching", "/serving/replicas/0/batching/kind"},
      {"partitioning", "/serving/replicas/0/partitioning/kind"},
      {"neurons", "/serving/replicas/0/partitioning/neurons/kind, of kind hot_cold"},
      {"placement", "/serving/replicas/0/placement/kind"},
      {"prefetch", "/serving/replicas/0/prefetch/kind"},
      {"speculative", "/serving/replicas/0/speculative/kind"},
      {"engine", "/serving/replicas/0/engine/kind"},
      {"routing", "/serving/routing/kind"},
      {"requests", "/workload/requests/kind"},
      {"name", "/workload/requests/name, of kind named"},
      {"arrivals", "/workload/arrivals/kind"},
      {"activity", "/workload/activity/kind"},
      {"interconnect", "/cluster/nodes/0/interconnect"},
      {"topology", "/cluster/network/topology"},
      {"bank_model", "weir memory KIND"},
      {"run", "summary.json; of nested ones with _ in results.csv, weir compare and weir plot"},
      {"point", "results.csv of a sweep"},
      {"job", "training_0_... in results.csv; summary.json has it in training[0]"},
  };
  return places.at(family);
}

const std::vector<ListSubject>& list_subjects() {
  static const std::vector<ListSubject> table = {
      {"devices", devices, &device_catalog},
      {"models", models, &model_catalog, "model"},
      {"policies", policies},
      {"workloads", workloads, &named_length_files, "name"},
      {"interconnects", interconnects, &interconnect_catalog},
      {"topologies", networks},
      {"memories", memories, &memory_catalog},
      {"metrics", metrics},
  };
  return table;
}

}  // namespace weir
