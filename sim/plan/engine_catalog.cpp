#include "sim/plan/engine_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles engine_files;

namespace {

// 0.10.2, v0.6.3.post1, 1.2.0rc6.post3: two numbers at least, then what packages add.
std::optional<VersionNumber> number_of(const std::string& version) {
  static const std::regex form(
      "v?(\\d{1,4})\\.(\\d{1,4})(\\.(\\d{1,6}))?(\\.\\d{1,6})?"
      "([.-]?(a|b|rc|post|dev|pre)\\d{0,9}){0,3}");
  std::smatch parts;
  if (version.size() > 40 || !std::regex_match(version, parts, form)) return std::nullopt;
  return VersionNumber{std::stoi(parts[1]), std::stoi(parts[2]), parts[4].matched ? std::stoi(parts[4]) : 0};
}

// "0.4" as a last version means all of 0.4.
bool is_after(const VersionNumber& number, const VersionNumber& last) {
  return std::array{number[0], number[1]} > std::array{last[0], last[1]};
}

VersionNumber sure_number_of(const std::string& version) {
  return number_of(version).value();  // a catalog's
}

const Choices<EngineOverhead::Messages> message_words = {{"once", EngineOverhead::Messages::once},
                                                         {"tree", EngineOverhead::Messages::tree},
                                                         {"each", EngineOverhead::Messages::each}};

// What a row gives stands over what the rows before it gave. Each constant has its source.
void read_constants(Params& row, EnginePreset& p) {
  const auto number = [&](const char* key, double& value) {
    value = row.number({key, "As a scenario's engine has it."}, not_negative, value);
  };
  number("step_overhead_us", p.step_us);
  number("sequence_overhead_us", p.sequence_us);
  number("prompt_overhead_us", p.prompt_us);
  number("worker_step_overhead_us", p.worker_step_us);
  number("worker_sequence_overhead_us", p.worker_sequence_us);
  number("eager_step_us", p.eager_step_us);
  number("launch_us", p.launch_us);
  number("front_end_ms", p.front_end_ms);
  if (row.has("worker_messages"))
    p.messages = row.choice({"worker_messages", "How a step reaches the workers."}, message_words, "once");
  p.graphs = row.text({"cuda_graphs", "As a scenario's engine has it."}, p.graphs);
  p.most_rows = row.integer({"cuda_graph_max_rows", "Likewise."}, {1}, p.most_rows);
  p.graphs_of_prompts = row.flag({"cuda_graph_prompts", "Likewise."}, p.graphs_of_prompts);
  p.scheduled_ahead_steps =
      static_cast<int>(row.integer({"scheduled_ahead_steps", "Likewise."}, {0, 16}, p.scheduled_ahead_steps));
  p.overlapped = row.flag({"async_scheduling", "Likewise."}, p.overlapped);
  p.pipelined_chunks = row.flag({"pipelined_chunks", "Likewise."}, p.pipelined_chunks);
  p.reserve_in_fraction = row.flag(
      {"reserve_in_fraction", "Its fraction of memory holds activations, beside weights and KV cache."},
      p.reserve_in_fraction);
  p.requests_by_memory =
      row.flag({"requests_by_memory", "Its limit of requests at once goes by a device's memory."},
               p.requests_by_memory);
  p.sampler = row.text({"sampler", "As a scenario's engine has it."}, p.sampler);
}

EngineFamily read_family(const std::string& file, const Json& document) {
  Reading reading(file + ".json");
  Params params(reading, document);
  EngineFamily family;
  family.kind = params.text({"kind", "engine.kind of a scenario."});
  family.title = params.text({"title", "For people."});
  family.newest = params.text({"newest", "In force where no version is given."}, "");
  EnginePreset preset;
  preset.library = params.text({"library", "Of its kernels and collectives."});
  preset.prefix_index = params.choice<PrefixIndex>(
      {"prefix_index", "As a scenario's kv_cache has it."},
      {{"blocks", PrefixIndex::blocks}, {"radix_tree", PrefixIndex::radix_tree}}, "blocks");
  for (Params& row : params.list({"versions", "What changed when."}, 0)) {
    EngineVersions versions;
    versions.first = row.text({"from", "First version."});
    versions.from = sure_number_of(versions.first);
    versions.changed = row.text({"changed", "For people."});
    versions.source = row.text({"source", "Where that is from."});
    read_constants(row, preset);
    versions.preset = preset;
    row.value({"sources", "Of each constant of the row."}, {});
    row.close();
    family.versions.push_back(std::move(versions));
  }
  if (family.versions.empty()) family.versions.emplace_back().preset = preset;
  family.names = {{family.kind, family.versions.front().first, family.newest}};
  if (const Json* names = params.value({"names", "Others, with the versions they mean."}, {}, Json::object()))
    for (const auto& [name, span] : names->items()) family.names.push_back({name, span[0], span[1]});
  params.close();
  reading.finish();
  return family;
}

std::vector<EngineFamily> read_families() {
  std::vector<EngineFamily> families;
  for (const auto& [name, text] : engine_files) {
    const std::string file(name);
    families.push_back(read_family(file, embedded_json(text, file)));
  }
  return families;
}

const EngineVersions& row_of(const EngineFamily& family, VersionNumber version) {
  const EngineVersions* found = &family.versions.front();
  for (const EngineVersions& row : family.versions)
    if (row.from <= version) found = &row;
  return *found;
}

// Sets the version that is in force by what was asked for, or what is wrong with that.
void choose_version(KnownEngine& engine, const EngineName& name, const std::string& asked) {
  const EngineFamily& family = *engine.family;
  if (family.newest.empty()) {
    engine.problem = fmt::format("{} has no versions, got \"{}\"", family.kind, asked);
    return;
  }
  const std::optional<VersionNumber> number = number_of(asked);
  const bool means_newest = name.last == family.newest;
  if (!number || *number < sure_number_of(name.first) ||
      (!means_newest && is_after(*number, sure_number_of(name.last)))) {
    engine.problem = fmt::format(
        "expected a version as \"{}\" of {}, got \"{}\" (known: {})", name.last, name.name, asked,
        name.name == family.kind || means_newest ? family.ranges() : name.first + " to " + name.last);
    return;
  }
  if (!is_after(*number, sure_number_of(family.newest))) {
    engine.version = asked.starts_with('v') ? asked.substr(1) : asked;
    return;
  }
  engine.note = fmt::format("{} {} is newer than {}, the newest that is known, and is taken for that one",
                            family.title, asked, family.newest);
}

}  // namespace

bool EnginePreset::same_times(EnginePreset other) const {
  other.requests_by_memory = requests_by_memory;
  other.reserve_in_fraction = reserve_in_fraction;
  other.sampler = sampler;
  return *this == other;
}

std::string EngineFamily::ranges() const {
  std::string text;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const bool last = i + 1 == versions.size();
    const auto [major, minor, patch] = last ? VersionNumber{} : versions[i + 1].from;
    const std::string to = last        ? newest
                           : patch > 0 ? fmt::format("{}.{}.{}", major, minor, patch - 1)
                                       : fmt::format("{}.{}", major, minor - 1);
    text += (i > 0 ? ", " : "") + versions[i].first + (to == versions[i].first ? "" : " to " + to);
  }
  return text;
}

const std::vector<EngineFamily>& engine_families() {
  static const std::vector<EngineFamily> families = read_families();
  return families;
}

std::optional<KnownEngine> find_engine(const std::string& name, const std::optional<std::string>& version) {
  for (const EngineFamily& family : engine_families()) {
    const auto known = std::ranges::find(family.names, name, &EngineName::name);
    if (known == family.names.end()) continue;
    KnownEngine engine;
    engine.family = &family;
    engine.version = known->last;
    if (version) choose_version(engine, *known, *version);
    engine.row =
        engine.version.empty() ? &family.versions.front() : &row_of(family, sure_number_of(engine.version));
    return engine;
  }
  return std::nullopt;
}

KnownEngine engine_in_force(const EngineOverhead& engine) {
  return find_engine(engine.kind, engine.version.empty() ? std::nullopt : std::optional(engine.version))
      .value();
}

}  // namespace weir
