#pragma once
// The measurement behind a scenario: how far a replica is from what measured servers were. For `weir run`,
// `weir check`, `weir plan` and the page. Pure.
#include <optional>
#include <string>
#include <vector>

#include "sim/app/evidence/differences.h"
#include "sim/app/evidence/measured_cells.h"
#include "sim/plan/plan.h"

namespace weir {

// measured: as a server of `nearest` in every key that can change a result, under such a load.
// similar: but for one thing: a model of its class, its device, its layout, or keys that were left at their
// defaults where the server was launched with others. far: in more, or in a key that was not measured.
enum class Nearness { measured, similar, far };
std::string to_string(Nearness nearness);

struct Evidence {
  Nearness nearness = Nearness::far;
  MeasuredCell nearest;  // model, number format and engine count before the device, and that before the ranks
  std::vector<std::string> differs;
  MeasuredClass of_class;     // servers that are as this one in kind
  bool load_unknown = false;  // how many requests are in flight is not known before a run

  double tpot_error_percent() const;
  std::optional<double> ttft_error_percent() const;
};

Evidence evidence_of(const Plan& plan, std::size_t replica, const ServedLoad& load);
std::string in_words(const Evidence& evidence);
std::string brief(const Evidence& evidence);  // similar (2 %)

// A line a thing: "/serving/replicas/0: ...". What is estimated, and how near each replica is.
std::vector<std::string> accuracy_lines(const Plan& plan);

}  // namespace weir
