#pragma once
// Text files compiled into the binary by embed_files and embed_json (cmake/embed.cmake). Declare the one you
// want with `extern const EmbeddedFiles device_catalog;` in the .cpp that reads it.
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Name (of JSON without its .json) and text, in the order given.
using EmbeddedFiles = std::vector<std::pair<std::string_view, std::string_view>>;

}  // namespace weir
