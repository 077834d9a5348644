#pragma once
// The measurement behind a scenario: the group of measured servers that is nearest to a replica, and what
// nobody has measured of it. For `weir run` and `weir check`. Pure.
#include <optional>
#include <string>
#include <vector>

#include "sim/app/evidence/measured_cells.h"
#include "sim/plan/plan.h"

namespace weir {

// A cell is near a replica on the same kind of device under the same engine, with experts where it has some
// and such servers were measured: what else differs is named.
// Where several are, the one with the number format, then the model, then the closest number of ranks wins.
struct Evidence {
  std::optional<MeasuredCell> nearest;
  std::vector<std::string> differs;  // model, number format, layout, ...; none: it was measured
};

Evidence evidence_of(const Plan& plan, std::size_t replica);
std::string in_words(const Evidence& evidence);

// A line a thing: "/serving/replicas/0: ...".
std::vector<std::string> without_measurement(const Plan& plan);

}  // namespace weir
