#include "sim/core/catalog_row.h"

#include <fmt/format.h>

namespace weir {
namespace {

// A file that the scenario names is not the scenario: its own pointers stand in the message.
void tell(const ConfigError& error, Reading& reading, const std::string& pointer) {
  for (const Problem& p : error.problems())
    reading.problem(
        pointer, fmt::format("{}: {}{}{}", error.file(), p.pointer, p.pointer.empty() ? "" : ": ", p.what));
}

void depend(Reading& reading, const Reading& below) {
  for (const auto& file : below.files()) reading.relative(std::filesystem::absolute(file).string());
}

// A file's name need not be UTF-8, and JSON must.
std::string name_of(const std::filesystem::path& file) {
  const std::string text = Json(file.stem().string()).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(text).get<std::string>();
}

class Finder {
 public:
  explicit Finder(const RowFamily& family) : family_(family) {}

  CatalogRow find(const Json& value, Reading& reading, const std::string& pointer, const Json& base) {
    if (value.is_object()) return inline_row(value, reading, pointer, base, "");
    if (!value.is_string()) {
      reading.problem(pointer, fmt::format("expected a string, a {}'s name or path, or an object of its keys",
                                           family_.what));
      return {};
    }
    return named(value.get<std::string>(), reading, pointer);
  }

 private:
  CatalogRow named(const std::string& name, Reading& reading, const std::string& pointer) {
    if (const std::string why = is_path(name) ? no_path(name) : ""; !why.empty()) {
      reading.problem(pointer, why);
      return {};
    }
    if (is_path(name)) return in_file(name, reading, pointer);
    if (const auto text = text_of(family_.files, name)) return {name, embedded_json(*text, name)};
    reading.problem(pointer, no_such(family_.what, name, names_of(family_.files)) +
                                 "; or the path of a file like the catalog's");
    return {};
  }

  CatalogRow refused(Reading& reading, const std::string& pointer) const {
    reading.problem(pointer, fmt::format("expected a string, a {}'s name or path", family_.what));
    return {};
  }

  std::filesystem::path file_of(const std::filesystem::path& path) const {
    std::error_code error;
    return *family_.in_folder && std::filesystem::is_directory(path, error) ? path / family_.in_folder : path;
  }

  CatalogRow in_file(const std::string& path, Reading& reading, const std::string& pointer) {
    const std::filesystem::path file = file_of(reading.relative(path));
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(file, error);
    if (!open_.insert(whole).second) {
      reading.problem(pointer, fmt::format("{} is its own base", file.string()));
      return {};
    }
    Reading below(file.string());
    CatalogRow found;
    try {
      // Files in folders of their own are not Weir's but Hugging Face's.
      const Json document = read_json_file(file, family_.in_folder ? JsonOf::python : JsonOf::anyone);
      if (!document.is_object()) throw ConfigError(file.string(), "", "expected an object");
      found = inline_row(document, below, "", nullptr, name_of(file));
      below.finish();
    } catch (const ConfigError& wrong) {
      tell(wrong, reading, pointer);
      found.row = nullptr;
    }
    open_.erase(whole);
    depend(reading, below);
    return found;
  }

  CatalogRow inline_row(const Json& value, Reading& reading, const std::string& pointer, const Json& base,
                        const std::string& name) {
    CatalogRow found{"custom", Json::object()};
    const Json named_base = value.contains("base") ? value["base"] : base;
    if (named_base.is_object() && !value.contains("base"))
      found = {base.value("name", "custom"), base};
    else if (named_base.is_string())
      found =
          named(named_base.get<std::string>(), reading, pointer + (value.contains("base") ? "/base" : ""));
    else if (!named_base.is_null() || value.contains("base"))
      return refused(reading, pointer + "/base");
    if (found.row.is_null()) return {};
    if (!name.empty()) found.name = name;
    Json given = value;
    given.erase("base");
    lay_over(found.row, given);
    Reading own(reading.file());
    gather(reading, pointer, [&] {
      family_.check(own, found.row, given, found.name);
      own.finish();
    });
    depend(reading, own);
    if (own.failed()) found.row = nullptr;
    return found;
  }

  const RowFamily& family_;
  std::set<std::filesystem::path> open_;  // files, each the base of the one before
};

// A row's base may have the keys that it needs; the items of a list are whole.
void need_nothing(Json& schema) {
  schema.erase("required");
  if (schema.contains("properties"))
    for (auto& [key, below] : schema["properties"].items()) need_nothing(below);
}

}  // namespace

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json");
}

CatalogRow find_row(const RowFamily& family, const Json& value, Reading& reading, const std::string& pointer,
                    const Json& base) {
  return Finder(family).find(value, reading, pointer, base);
}

void lay_over(Json& row, const Json& over) {
  if (row.is_object() && row.empty()) return void(row = over);
  for (const auto& [key, value] : over.items()) {
    const auto at = row.find(key);
    if (at == row.end()) {
      row[key] = value;
    } else if (value.is_object() && !value.contains("base") && at->is_object()) {
      lay_over(*at, value);
    } else if (value.is_object() && !value.contains("base") && at->is_string()) {  // another catalog's row
      const Json named = {{"base", *at}};
      *at = named;
      at->update(value);
    } else {
      *at = value;
    }
  }
}

void gather(Reading& reading, const std::string& pointer, const std::function<void()>& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    for (const Problem& p : error.problems()) reading.problem(pointer + p.pointer, p.what);
  }
}

Json path_schema() {
  return {{"type", "string"}, {"pattern", "/|\\.json$"}};
}

Json name_or_path_schema(const RowFamily& family) {
  const Json names = {{"enum", names_of(family.files)}};
  return {{"type", "string"}, {"anyOf", Json::array({names, path_schema()})}};
}

Json row_schema(const RowFamily& family, Json object) {
  need_nothing(object);
  object["properties"].erase("$schema");
  object["properties"]["base"] = {
      {"type", "string"},
      {"description", fmt::format("The {} that the other keys change: a name, or a path.", family.what)}};
  return {{"oneOf", Json::array({name_or_path_schema(family), std::move(object), {{"type", "null"}}})}};
}

}  // namespace weir
