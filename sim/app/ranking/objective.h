#pragma once
// The objectives that a search for the best way to serve a load can name: what "cheapest" means, in a sweep's
// `cheapest` for one. The table alone feeds the sweep file's key, its schema, error messages and what is
// printed.
#include <string>
#include <utility>
#include <vector>

#include "sim/core/params.h"

namespace weir {

struct Objective {
  std::string name, summary;
  std::string metric;  // how a point's summary says it, by metric_of(); less is better
  std::string shown;   // the pattern of a number of it for people: "${} /hour"
};
const std::vector<Objective>& objectives();
const Objective& objective_of(const std::string& name);  // must be one of the table

// Between equal ones the requests decide, by the mean of their whole latency: it holds the first token and
// all others, and every request that was served has one.
inline constexpr const char* tie_metric = "mean_e2el_ms";

// Orders points: the less, the better; a point without a value is last. The same prices added up in another
// order differ in their last digits, so that objectives are equal that agree to nine.
std::pair<double, double> place_by(double objective, double latency);

}  // namespace weir
