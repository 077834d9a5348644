#pragma once
// Text files compiled into the binary by embed_files and embed_json (cmake/embed.cmake). Declare the one you
// want with `extern const EmbeddedFiles device_catalog;` in the .cpp that reads it.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Name (of JSON without its .json) and text, in the order given.
using EmbeddedFiles = std::vector<std::pair<std::string_view, std::string_view>>;

inline std::vector<std::string> names_of(const EmbeddedFiles& files) {
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.emplace_back(name);
  return names;
}

inline std::optional<std::string_view> text_of(const EmbeddedFiles& files, std::string_view name) {
  const auto at = std::find_if(files.begin(), files.end(), [&](auto& file) { return file.first == name; });
  return at == files.end() ? std::nullopt : std::optional<std::string_view>(at->second);
}

}  // namespace weir
