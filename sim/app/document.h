#pragma once
// The scenario or sweep that a command is given: a file, or what comes in on stdin.
#include <string>

#include "sim/core/params.h"

namespace weir {

struct Document {
  std::string file;  // for errors and the default --out; its relative paths start at this file's folder
  Json json;
};

// "-" is stdin, whose relative paths start at the current directory. Throws ConfigError.
Document read_document(const std::string& argument);

bool is_study(const Json& document);  // for weir reproduce: has "parts"; a scenario and a sweep have none
// Throws ConfigError where it is one, for commands that take none.
void refuse_study(const Json& document, const std::string& file);

}  // namespace weir
