// weir list: what a scenario may name, and what a run gives. The rooms' own tables feed it, and the schema
// says which keys a name takes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "models/memory/memory_spec.h"
#include "models/nn/net_catalog.h"
#include "policies/speculation/speculation.h"
#include "sim/app/command_line.h"
#include "sim/app/key_help.h"
#include "sim/app/output/rows/metric_rows.h"
#include "sim/app/wrap.h"
#include "sim/core/embedded.h"
#include "sim/plan/plan.h"

namespace weir {

extern const EmbeddedFiles device_catalog, model_catalog, interconnect_catalog, memory_catalog,
    named_length_files;

namespace {

struct Entry {
  std::string family, name, summary;  // family: the key that takes the name
};

// Where in a scenario a family's names are written.
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

template <class Row>
void append(std::vector<Entry>& entries, const std::string& family, const std::vector<Row>& table) {
  for (const Row& row : table) entries.push_back({family, row.name, row.summary});
}

std::vector<Entry> devices() {
  std::vector<Entry> entries;
  for (const std::string& name : device_names()) entries.push_back({"devices", name, device_summary(name)});
  return entries;
}

Architecture architecture(const std::string& name) {
  Reading reading("");
  const Architecture model = find_architecture(name, reading, "");
  reading.finish();
  return model;
}

std::vector<Entry> models() {
  std::vector<Entry> entries;
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

std::vector<Entry> policies() {
  std::vector<Entry> entries;
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

std::vector<Entry> workloads() {
  std::vector<Entry> entries;
  append(entries, "requests", request_kinds());
  append(entries, "arrivals", arrival_kinds());
  append(entries, "activity", activity_kinds());
  append(entries, "name", named_lengths());
  return entries;
}

std::vector<Entry> interconnects() {
  std::vector<Entry> entries;
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

std::vector<Entry> networks() {
  std::vector<Entry> entries;
  append(entries, "topology", topologies());
  return entries;
}

std::vector<Entry> memories() {
  std::vector<Entry> entries;
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    entries.push_back({"bank_model", name,
                       fmt::format("{}; {:.4g} GB/s, {} banks", memory.title, memory.peak().value() / 1e9,
                                   memory.organisation.banks())});
  }
  return entries;
}

std::vector<Entry> metrics() {
  static const std::map<Better, const char*> directions = {
      {Better::more, "; more is better"}, {Better::less, "; less is better"}, {Better::neither, ""}};
  std::vector<Entry> entries;
  const auto add = [&](const char* family, const std::vector<MetricRow>& table) {
    for (const MetricRow& row : table)
      entries.push_back({family, row.name(), row.heading() + directions.at(row.better)});
  };
  add("run", serving_metrics());
  add("point", sweep_metrics());
  add("job", training_metrics());
  return entries;
}

struct Subject {
  const char* name;
  std::vector<Entry> (*entries)();
  const EmbeddedFiles* catalog = nullptr;  // the numbers behind the names
  const char* in_catalog = nullptr;        // the family that it is of; null: all
};
const Subject subjects[] = {
    {"devices", devices, &device_catalog},
    {"models", models, &model_catalog, "model"},
    {"policies", policies},
    {"workloads", workloads, &named_length_files, "name"},
    {"interconnects", interconnects, &interconnect_catalog},
    {"topologies", networks},
    {"memories", memories, &memory_catalog},
    {"metrics", metrics},
};

bool takes(const Json& schema, const std::string& name) {
  const Json names = schema.value("enum", Json::array());
  return schema.value("const", "") == name || std::find(names.begin(), names.end(), name) != names.end();
}

// The object that the name is written in, with its keys: an alternative of a tagged union under the key
// `family`, or whatever has that key or `kind` among its own, wherever it stands.
Json object_of(const Json& schema, const Entry& entry) {
  const Json properties = schema.is_object() ? schema.value("properties", Json::object()) : Json::object();
  if (const auto at = properties.find(entry.family); at != properties.end()) {
    if (takes(*at, entry.name)) return schema;
    const Json& one = at->contains("items") ? (*at)["items"] : *at;
    for (const Json& kind : one.value("oneOf", Json::array({one})))
      if (takes(kind.value(Json::json_pointer("/properties/kind"), Json::object()), entry.name)) return kind;
  }
  if (schema.is_structured())
    for (const Json& below : schema)
      if (Json found = object_of(below, entry); !found.empty()) return found;
  return Json::object();
}

Json as_json(const Entry& entry) {
  return {{"family", entry.family}, {"name", entry.name}, {"summary", entry.summary}};
}

void print(const std::vector<Entry>& entries) {
  const std::size_t columns = terminal_width(STDOUT_FILENO);
  std::size_t width = 0;
  for (const Entry& e : entries) width = std::max(width, e.name.size());
  std::string family;
  for (const Entry& e : entries) {
    if (e.family != family)
      fmt::print("{}{}", family.empty() ? "" : "\n",
                 fitted(fmt::format("{} ({}):\n", e.family, place_of(e.family)), columns));
    family = e.family;
    fmt::print("{}", entry(e.name, width, e.summary, columns));
  }
}

// Details of a name: its catalog file and the keys it takes.
Json details(const Subject& subject, const Entry& entry) {
  Json all = as_json(entry);
  if (subject.catalog && (!subject.in_catalog || subject.in_catalog == entry.family))
    if (const auto text = text_of(*subject.catalog, entry.name))
      all["catalog"] = embedded_json(*text, entry.name);
  const Json object = object_of(scenario_schema(), entry);
  all["keys"] = object.value("properties", Json::object());
  all["required"] = object.value("required", Json::array());
  return all;
}

// One line of it; a hundred quantiles are for programs (--json).
std::string shown(const Json& value) {
  constexpr std::size_t longest = 100;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.size() <= longest || value.is_string() ? text : text.substr(0, longest - 3) + "...";
}

void print_one(const Json& details) {
  const std::string family = details["family"].get<std::string>();
  const std::size_t width = terminal_width(STDOUT_FILENO);
  fmt::print("{}", fitted(fmt::format("{} ({})\n  {}\n", details["name"].get<std::string>(), place_of(family),
                                      details["summary"].get<std::string>()),
                          width));
  const Json catalog = details.value("catalog", Json::object()),
             sources = catalog.value("sources", Json::object());
  for (const auto& [key, value] : catalog.items())
    if (key != "sources" && key != "summary" && key != "title")
      fmt::print("{}",
                 entry(fmt::format("{:<26} {:<9}", key, shown(value)), 36, sources.value(key, ""), width));
  fmt::print("{}", key_help({{"properties", details["keys"]}, {"required", details["required"]}}, width));
}

int list(const std::string& subject, const std::string& name, bool json) {
  const auto row = std::find_if(std::begin(subjects), std::end(subjects),
                                [&](const Subject& s) { return s.name == subject; });
  if (row == std::end(subjects)) {
    std::vector<std::string> known;
    for (const Subject& s : subjects) known.emplace_back(s.name);
    throw ConfigError("weir list", "",
                      subject.empty() ? fmt::format("of what? {}", fmt::join(known, ", "))
                                      : no_such("subject", subject, known));
  }
  const std::vector<Entry> entries = row->entries();
  if (name.empty() && !json) print(entries);
  if (!name.empty() &&
      std::none_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; }))
    throw ConfigError("weir list " + subject, "", no_such("name", name, names_of(entries)));
  Json all = Json::array();
  for (const Entry& entry : entries)
    if (name.empty())
      all.push_back(as_json(entry));
    else if (entry.name == name)  // gamma is a law of lengths and one of arrivals
      all.push_back(details(*row, entry));
  if (json) fmt::print("{}\n", all.dump(2));
  if (!json && !name.empty())
    for (const Json& one : all) print_one(one);
  return exit_done;
}

}  // namespace

std::vector<std::string> list_values(const std::string& argument, const std::vector<std::string>& before) {
  if (argument != "NAME" || before.empty()) return {};
  for (const Subject& subject : subjects)
    if (subject.name == before[0]) return names_of(subject.entries());
  return {};
}

std::function<int()> declare_list(CLI::App& app) {
  struct Arguments {
    std::string subject, name;
    bool json = false;
  };
  const auto a = std::make_shared<Arguments>();
  std::string known;
  for (const Subject& s : subjects) known += (known.empty() ? "" : "|") + std::string(s.name);
  app.add_option("SUBJECT", a->subject, "what to list")->type_name(known);
  app.add_option("NAME", a->name, "one of them, with its keys");
  app.add_flag("--json", a->json, "for programs");
  return [a] { return list(a->subject, a->name, a->json); };
}

}  // namespace weir
