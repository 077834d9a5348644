#pragma once
// Figures of shipped scenarios as they were last recorded (shipped_figures.json). A change that moves one is
// seen, and records them anew (`make record-figures`) with a line of CHANGELOG that says why.
#include <map>
#include <string>

#include "sim/core/params.h"

namespace weir::test {

using Figures = std::map<std::string, double>;

// The numbers of a summary.json by their path; those of lists (devices, links, replicas) are added up.
// Without the scenario itself, and without spreads and percentiles that others stand beside.
Figures figures_of(const Json& summary);

const std::map<std::string, Figures>& recorded_figures();
void record_figures(const std::map<std::string, Figures>& by_scenario);

// Which figures moved by more than a millionth, a line each, with both values; empty if none did.
std::string moved(const Figures& recorded, const Figures& now);

}  // namespace weir::test
