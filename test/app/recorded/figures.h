#pragma once
// Figures of runs as they were last recorded, in figures/. A change that moves one is seen,
// and records them anew (`make record-figures`) with a line of CHANGELOG that says why.
#include <filesystem>
#include <map>
#include <string>

#include "sim/core/params.h"

namespace weir::test {

using Figures = std::map<std::string, double>;
using FiguresByRun = std::map<std::string, Figures>;

// The numbers of a summary.json by their path; those of lists (devices, links, replicas) are added up.
// Without the scenario itself, and without spreads and percentiles that others stand beside.
Figures figures_of(const Json& summary);
// The sum of every column of numbers, each row weighted by its place: rows that change places are seen.
Figures figures_of_columns(const std::filesystem::path& csv);
// The numbers of each line added up, by the line's first word.
Figures figures_of_lines(const std::string& text);

FiguresByRun read_figures(const std::string& name);
void write_figures(const std::string& name, const FiguresByRun& figures);

// Figures of `now` that moved by more than a millionth, and 0 where `base` alone has one.
Figures other_than(const Figures& base, const Figures& now);
// The same in words: a line each, with both values; empty if none did.
std::string moved(const Figures& recorded, const Figures& now);

}  // namespace weir::test
