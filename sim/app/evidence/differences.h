#pragma once
// How a replica of a scenario differs from a measured server. For evidence.h.
#include <optional>
#include <string>
#include <vector>

#include "sim/app/evidence/measured_cells.h"
#include "sim/plan/plan.h"

namespace weir {

// The load on a replica.
struct ServedLoad {
  double input_tokens = 0, output_tokens = 0;  // means over requests
  double longest = 0;                          // input and output together
  bool sessions = false, begins_alike = false, in_generation = false;
  std::optional<double> in_flight = {};  // requests on the mean; none: not known before a run
};
// `in_flight`: of all replicas, where a run has told.
ServedLoad load_of(const Plan& plan, std::optional<double> in_flight = {});

// "number format of attention, mlp fp8 (measured: bf16)".
std::vector<std::string> other_formats(const Scenario& ours, const Scenario& theirs);

struct Differences {
  std::vector<std::string> model, device, layout;  // each may be the one thing that is otherwise
  std::vector<std::string> launch;                 // keys at their defaults, where servers had others
  std::vector<std::string> more;                   // no server was measured with these
  bool load_unknown = false;

  std::vector<std::string> all() const;
  int kinds() const;  // how many of the first four are not empty
};

Differences differences_from(const MeasuredCell& cell, const Plan& plan, std::size_t replica,
                             const ServedLoad& load);

}  // namespace weir
