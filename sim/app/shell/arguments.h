#pragma once
// Checks of arguments that all commands share.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// A whole number in decimal digits and nothing else: no blank, sign of its own, octal or exponent.
CLI::Validator whole_number(std::int64_t min, std::int64_t max);

// No argument is the empty text: it would be taken for one that is not given.
void refuse_empty(CLI::App& command);

// Throws ConfigError for an option that the command has not, before anything is said of what it lacks.
void refuse_unknown_options(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace weir
