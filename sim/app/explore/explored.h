#pragma once
// The scenario that a page explores, and what one run of a changed one tells the page.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

struct Explored {
  std::string file;                       // as it was typed; relative paths start at its folder
  Json document, resolved;                // and with its defaults
  std::set<std::filesystem::path> files;  // that it names, which are all that the page may have read
};

// Throws ConfigError with every problem of the scenario, and for one that serves nobody.
Explored explored_scenario(const std::string& argument);

// The scenario with what the page sends, [[pointer, value], ...], set in this order. Throws ConfigError.
Json changed(const Explored& explored, const Json& changes);

// One run, in a process of its own. Part 0 is the scenario: its summary, resolved scenario and curves, or its
// problems. Others are the same at other loads, by factors of the scenario's own: their main metrics.
inline constexpr int load_parts = 8;  // beside part 0
Json run_part(const Explored& explored, const Json& scenario, int part);

}  // namespace weir
