#include "sim/app/document.h"

#include <iostream>

namespace weir {

Document read_document(const std::string& argument) {
  if (argument == "-") return {"stdin", parse_json(read_text_stream(std::cin, "stdin"), "stdin")};
  return {argument, read_json_file(argument)};
}

}  // namespace weir
