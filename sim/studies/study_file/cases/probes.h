#pragma once
// Probes give what a study compares and no run has: each has a name, parameters and numbers. A new one is a
// row of the table.
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir::study {

struct Probe {
  std::string name, summary;
  std::vector<std::string> numbers;
  // In their order, NaN where there is none. What is wrong with the parameters is a problem of the reading.
  std::vector<double> (*of)(const Json& parameters, Reading& reading);
};
const std::vector<Probe>& probes();

}  // namespace weir::study
