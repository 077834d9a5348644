#include "sim/app/key_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir {
namespace {

std::string kind_of_value(const Json& schema) {
  if (schema.contains("enum")) {
    std::vector<std::string> values;
    for (const Json& value : schema["enum"])
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    return fmt::format("one of {}", fmt::join(values, ", "));
  }
  const Json type = schema.value("type", Json("object"));
  return type.is_array() ? type[0].get<std::string>() + " or null" : type.get<std::string>();
}

// "integer >= 1 and <= 4096; default 16"
std::string takes(const Json& schema, bool required) {
  std::string text = kind_of_value(schema);
  std::vector<std::string> bounds;
  for (const auto& [key, sign] : {std::pair{"exclusiveMinimum", ">"}, {"minimum", ">="}, {"maximum", "<="}})
    if (schema.contains(key)) bounds.push_back(fmt::format("{} {}", sign, schema[key].dump()));
  if (!bounds.empty()) text += fmt::format(" {}", fmt::join(bounds, " and "));
  if (required) return text + "; required";
  return schema.contains("default") ? text + "; default " + schema["default"].dump() : text;
}

bool is_required(const Json& object, const std::string& key) {
  const Json names = object.value("required", Json::array());
  return std::find(names.begin(), names.end(), key) != names.end();
}

}  // namespace

std::string key_help(const Json& object, std::size_t width, const std::string& prefix) {
  std::string text;
  const Json properties = object.value("properties", Json::object());
  for (const auto& [key, schema] : properties.items()) {
    if (key == "about" || key == "kind") continue;
    const std::string name = prefix + key;
    text += entry(
        name, entry_label,
        fmt::format("{} ({})", schema.value("description", ""), takes(schema, is_required(object, key))),
        width);
    text += key_help(schema, width, name + ".");
    for (const Json& alternative : schema.value("oneOf", Json::array())) {
      const Json kind = alternative.value(Json::json_pointer("/properties/kind/const"), Json());
      if (kind.is_string()) text += fmt::format("  {}.kind {}:\n", name, kind.dump());
      text += key_help(alternative, width, name + ".");
    }
  }
  return text;
}

}  // namespace weir
