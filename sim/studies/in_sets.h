#pragma once
// A number of a study in both assumption sets, and rows made of such numbers.
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/case_runner.h"

namespace weir {

// None where a run of it failed, and why.
struct InSets {
  std::optional<double> paper, physical;
  std::string error = {};
};
InSets in_sets(const CaseResult& paper, const CaseResult* physical, double CaseResult::*what,
               const std::string& name);
InSets operator/(const InSets& a, const InSets& b);
InSets paper_alone(InSets all);
// Over those that there are.
InSets mean(const std::vector<InSets>& all);
InSets least(const std::vector<InSets>& all);
InSets largest(const std::vector<InSets>& all);

struct Bounds {
  std::optional<double> low = {}, high = {};
};
// Judged within these; neither: reported.
ReproducedRow& add_row(ReproducedRows& rows, std::string id, std::string metric,
                       std::optional<double> published, const InSets& simulated, Bounds paper = {},
                       Bounds physical = {});
std::string csv(const std::optional<double>& value);  // empty where there is none

}  // namespace weir
