#pragma once
// Text with values in it: "at {model}, {batch} x {length / 1024}k: {gain:.3f}". In braces stands a formula,
// with a number format behind a colon, or an axis, whose label is meant. {{ is a brace.
#include <functional>
#include <string>
#include <vector>

#include "sim/studies/study_file/formula/formula_reader.h"

namespace weir::study {

class Text {
 public:
  Text() = default;
  // Throws std::runtime_error with what is wrong.
  Text(const std::string& text, const Names& names);
  std::string at(const Place& place, Values& values) const;
  const AxisSet& free() const { return free_; }

 private:
  using Piece = std::function<std::string(const Place&, Values&)>;
  Piece piece(const std::string& within, const Names& names);
  std::vector<Piece> pieces_;
  AxisSet free_;
};

// A number as `format` has it (.3f, .0f, g); "" is its shortest.
bool is_format(const std::string& format);
std::string formatted(double value, const std::string& format);

}  // namespace weir::study
