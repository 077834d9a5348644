#pragma once
// A value that a study puts into a scenario. In its texts "{batch}" is an axis' value or a constant of the
// case as it is, "=batch * length" a number by a formula, and "x{batch}" a text with values in it.
#include <functional>

#include "sim/studies/study_file/formula/formula_reader.h"

namespace weir::study {

class CaseSetting {
 public:
  // Throws std::runtime_error with what is wrong.
  CaseSetting(const Json& given, const Names& names);
  Json at(const Place& place) const { return make_(place); }
  double number_at(const Place& place) const;  // throws where it is none
  const AxisSet& free() const { return free_; }

 private:
  void read_text(const std::string& text, const Names& names);
  std::function<Json(const Place&)> make_;
  AxisSet free_;
};

}  // namespace weir::study
