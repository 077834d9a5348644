#include "sim/app/document.h"

#include <fmt/format.h>

#include <iostream>

namespace weir {

Document read_document(const std::string& argument) {
  if (argument == "-") return {"stdin", parse_json(read_text_stream(std::cin, "stdin"), "stdin")};
  return {argument, read_json_file(argument)};
}

bool is_study(const Json& document) {
  return document.is_object() && document.contains("parts");
}

void refuse_study(const Json& document, const std::string& file) {
  if (is_study(document))
    throw ConfigError(file, "", fmt::format("this is a study: weir reproduce {}", file));
}

}  // namespace weir
