#pragma once
// Reads the text of formulas. Beside muParser's arithmetic (+ - * / ^, comparisons, && ||, c ? a : b, min,
// max, abs, sqrt, log2, floor, ...):
//   model_size             the value of an axis; of records server.devices
//   served.mean_ttft_ms    a metric of a case
//   gain{batch=8}          a named formula or a case at a value of an axis: a value's label, an axis, or a
//                          formula of axes
//   mean[model](gain)      a reduction over axes (reductions.h); min[mb where gain > 1](mb) of some points
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/study_file/formula/formula.h"

namespace weir::study {

class CaseSetting;

// A formula may name these.
struct Names {
  const Axes& axes;
  const std::vector<std::unique_ptr<Let>>* lets = nullptr;
  const std::vector<std::unique_ptr<StudyCase>>* cases = nullptr;
  const std::map<std::string, CaseSetting>* given = nullptr;  // constants of a case
  std::optional<AxisSet> usable =
      {};              // axes that it may depend on; none: all, and it depends on what it names
  double reduced = 1;  // points of the reductions around it
};

// They throw std::runtime_error with what is wrong.
FormulaPtr read_formula(const std::string& text, const Names& names);
// The formula of an argmin or argmax over any axes.
std::unique_ptr<ReductionTerm> read_place(const std::string& text, const Names& names);

inline constexpr std::size_t longest_formula = 2000;

}  // namespace weir::study
