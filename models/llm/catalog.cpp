#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/llm/config/hugging_face.h"
#include "sim/core/catalog_row.h"

namespace weir {

extern const EmbeddedFiles model_catalog;

namespace {

// .../Llama-3.1-8B/config.json is called Llama-3.1-8B, mine.json is called mine.
std::string name_of(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
  return stem == "config" && !folder.empty() ? folder : stem;
}

// NVIDIA's Model Optimizer writes what it did into a file beside config.json.
Json with_quantization_beside(Json config, const std::filesystem::path& file) {
  const std::filesystem::path beside = file.parent_path() / "hf_quant_config.json";
  std::error_code error;
  if (!config.is_object() || config.contains("quantization_config") ||
      !std::filesystem::exists(beside, error))
    return config;
  config["quantization_config"] = quantization_config_of(read_json_file(beside));
  return config;
}

Architecture read_embedded(std::string_view name, std::string_view text) {
  Reading reading(fmt::format("models/llm/catalog/{}.json", name));
  const Json& config = embedded_json(text, reading.file());
  Architecture m = read_architecture(config, reading, std::string(name));
  reading.finish();
  return m;
}

// Sizes that are likely a slip: beyond 100 times the largest of the catalog.
void note_far_sizes(Architecture& m) {
  constexpr std::int64_t far = 100;
  struct Size {
    const char* name;
    std::int64_t (*of)(const Architecture&);
  };
  constexpr Size sizes[] = {
      {"layers", [](const Architecture& a) { return a.layer_count(); }},
      {"hidden size", [](const Architecture& a) { return a.hidden; }},
      {"attention heads", [](const Architecture& a) { return a.most_heads().query; }},
      {"MLP width",
       [](const Architecture& a) {
         return a.most([](const LayerKind& layer) { return layer.intermediate; });
       }},
      {"experts", [](const Architecture& a) { return a.most_experts(); }},
      {"vocabulary", [](const Architecture& a) { return a.vocabulary; }},
      {"positions", [](const Architecture& a) { return a.positions; }},
  };
  for (const Size& size : sizes) {
    std::int64_t largest = 0;
    for (const auto& [name, text] : model_catalog)
      largest = std::max(largest, size.of(read_embedded(name, text)));
    if (size.of(m) / far > largest)
      m.notes.push_back(fmt::format("{}: {} {}, more than {} times the largest of the catalog, {}", m.name,
                                    size.of(m), size.name, far, largest));
  }
}

// A file's keys are not all ours; those that a scenario changes are.
void check_row(Reading& reading, const Json& row, const Json& given, const std::string& name) {
  const bool over_base = given.size() < row.size();
  Reading own(reading.file());
  try {
    read_architecture(row, own, name, over_base);
    own.finish();
  } catch (const ConfigError& error) {
    for (const Problem& p : error.problems())
      if (!p.what.starts_with("unknown key") || given.contains(Json::json_pointer(p.pointer)))
        reading.problem(p.pointer, p.what);
  }
}

const RowFamily& model_rows() {
  static const RowFamily family{"model", model_catalog,
                                [](Reading& reading, Json& row, const Json& given, const std::string& name) {
                                  check_row(reading, row, given, name);
                                },
                                "config.json"};
  return family;
}

}  // namespace

std::vector<std::string> architecture_names() {
  return names_of(model_catalog);
}

Architecture read_hugging_face_config(const std::filesystem::path& path) {
  std::error_code error;
  const auto file = std::filesystem::is_directory(path, error) ? path / "config.json" : path;
  const Json config = with_quantization_beside(read_json_file(file, JsonOf::python), file);
  Reading reading(file.string());
  Architecture m = read_architecture(config, reading, name_of(file));
  reading.finish();
  return m;
}

Architecture find_architecture(const std::string& name_or_path, Reading& reading,
                               const std::string& pointer) {
  if (reading.describing()) return read_embedded(model_catalog.front().first, model_catalog.front().second);
  if (const std::string why = is_path(name_or_path) ? no_path(name_or_path) : ""; !why.empty()) {
    reading.problem(pointer, why);
    return {};
  }
  if (is_path(name_or_path)) {
    try {
      Architecture m = read_hugging_face_config(reading.relative(name_or_path));
      note_far_sizes(m);
      return m;
    } catch (const ConfigError& e) {
      std::error_code error;
      const bool there = std::filesystem::exists(reading.relative(name_or_path), error);
      const std::string nearest = there ? "" : nearest_name(name_or_path, architecture_names());
      for (const Problem& p : e.problems())
        reading.problem(
            pointer,
            fmt::format("{}: {}{}{}{}", shortened(e.file()), p.pointer, p.pointer.empty() ? "" : ": ", p.what,
                        nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest)));
      return {};
    }
  }
  if (const auto text = text_of(model_catalog, name_or_path)) return read_embedded(name_or_path, *text);
  reading.problem(pointer,
                  no_such("model", name_or_path, architecture_names()) + "; or the path of a config.json");
  return {};
}

Architecture read_model(const Json& given, Reading& reading, const std::string& pointer) {
  if (given.is_string()) return find_architecture(given.get<std::string>(), reading, pointer);
  if (!given.is_object()) {
    reading.problem(pointer, "expected a string, a model's name or path, or an object of its keys");
    return {};
  }
  const CatalogRow found = find_row(model_rows(), given, reading, pointer);
  if (found.row.is_null()) return {};
  const std::string base = given.contains("base") ? given["base"].get<std::string>() : "";
  Reading own(reading.file());
  Architecture m =
      read_architecture(found.row, own, is_path(base) ? name_of(reading.relative(base)) : found.name);
  note_far_sizes(m);
  return m;
}

Json model_schema() {
  const Json base = {{"type", "string"}, {"description", "The model that the other keys change."}};
  const Json object = {{"type", "object"}, {"properties", {{"base", base}}}};
  return {{"oneOf", Json::array({{{"type", "string"}}, object})}};
}

}  // namespace weir
