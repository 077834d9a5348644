#include "models/llm/config/families.h"

#include <algorithm>
#include <stdexcept>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles family_files;

namespace {

const Json& file_named(std::string_view name) {
  const auto text = text_of(family_files, name);
  return embedded_json(text.value(), "models/llm/families/" + std::string(name) + ".json");
}

std::vector<std::string> words(Params& row, const char* key) {
  std::vector<std::string> all;
  if (const Json* list = row.value({key, ""}, {}, Json::array()))
    for (const Json& word : *list) all.push_back(word.get<std::string>());
  return all;
}

void lay_over(Json& values, Params& row, const char* key) {
  if (const Json* own = row.value({key, ""}, {}, Json::object())) values.update(*own);
}

using Families = std::map<std::string, Family, std::less<>>;

// A row of which the one that it is like was read before.
void read_row(Families& families, const std::string& file, const std::string& name, const Json& json) {
  Reading reading("models/llm/families/" + file + ".json");
  Params row(reading, json);
  const std::string like = row.text({"like", ""}, "");
  Family family = like.empty() ? Family() : families.at(like);
  family.name = name;
  family.note = row.text({"note", ""}, family.note);
  family.refused = row.text({"refused", ""}, "");
  family.reader = row.text({"reader", ""}, family.reader);
  family.class_name = row.text({"class", ""}, family.class_name);
  row.text({"source", ""});
  lay_over(family.but, row, "but");
  lay_over(family.defaults, row, "defaults");
  lay_over(family.names, row, "names");
  for (std::string& key : words(row, "within")) family.within.push_back(std::move(key));
  for (std::string& key : words(row, "harmless")) family.harmless.push_back(std::move(key));
  row.close();
  reading.finish();
  families.emplace(name, std::move(family));
}

const Families& families() {
  static const Families all = [] {
    Families read;
    for (const char* file : {"dense", "experts", "hybrids", "refused"})
      for (const auto& [name, row] : file_named(file).items()) read_row(read, file, name, row);
    return read;
  }();
  return all;
}

// "*_dropout", "rope_*", "*vision*", or a whole key.
bool matches(const std::string& pattern, const std::string& key) {
  if (pattern.starts_with('*') && pattern.ends_with('*'))
    return key.find(pattern.substr(1, pattern.size() - 2)) != std::string::npos;
  if (pattern.starts_with('*')) return key.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  return key == pattern;
}

bool listed(const char* list, const std::string& key) {
  return std::ranges::any_of(file_named("keys").at(list), [&](const Json& pattern) {
    return matches(pattern.get_ref<const std::string&>(), key);
  });
}

void append(std::vector<std::string>& names, const Json& of_keys, const std::string& key) {
  if (const auto found = of_keys.find(key); found != of_keys.end())
    for (const Json& name : *found) names.push_back(name.get<std::string>());
}

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& [name, family] : families())
    if (family.refused.empty()) names.push_back(name);
  return names;
}

const Family* family_named(std::string_view model_type) {
  const auto found = families().find(model_type);
  return found == families().end() ? nullptr : &found->second;
}

std::vector<std::string> names_of_key(const Family& family, const std::string& key) {
  std::vector<std::string> names = {key};
  append(names, family.names, key);
  append(names, file_named("keys").at("names"), key);
  return names;
}

bool may_differ(const std::string& key) {
  return listed("may_differ", key);
}

bool is_harmless(const Family& family, const std::string& key) {
  return std::ranges::any_of(family.harmless,
                             [&](const std::string& pattern) { return matches(pattern, key); }) ||
         listed("harmless", key);
}

bool tells_of_layers(const std::string& key) {
  return listed("telling", key);
}

}  // namespace weir
