#include "sim/app/ranking/objective.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace weir {

const std::vector<Objective>& objectives() {
  static const std::vector<Objective> table = {
      {"dollars_per_hour", "what all devices of the replicas cost an hour", "cost_dollars_per_hour",
       "${} /hour"},
      {"dollars_per_mtok", "what a million output tokens cost", "cost_dollars_per_million_output_tokens",
       "${} /Mtok"},
      {"devices", "how many devices the replicas have", "device_count", "device count {}"},
      {"joules_per_token", "what energy an output token takes", "joules_per_output_token", "{} J/token"},
  };
  return table;
}

const Objective& objective_of(const std::string& name) {
  for (const Objective& objective : objectives())
    if (objective.name == name) return objective;
  throw std::logic_error("no objective " + name);
}

std::pair<double, double> place_by(double objective, double latency) {
  constexpr double worst = std::numeric_limits<double>::infinity();
  if (std::isnan(objective)) return {worst, worst};
  return {std::strtod(fmt::format("{:.9g}", objective).c_str(), nullptr),
          std::isnan(latency) ? worst : latency};
}

}  // namespace weir
