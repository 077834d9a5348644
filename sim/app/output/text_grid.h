#pragma once
// A table for the terminal: the first columns to the left, the rest to the right, each as wide as its cells.
// Where that is wider than it may be, cells are broken over several lines, the widest columns first.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/app/wrap.h"

namespace weir {

class TextGrid {
 public:
  explicit TextGrid(std::size_t left_columns = 1) : left_(left_columns) {}
  void add(std::vector<std::string> row) { rows_.push_back({std::move(row), false}); }
  void note(std::string text) {
    rows_.push_back({{std::move(text)}, true});
  }  // below a row, from column 1 on
  std::string text(std::size_t width = unbounded) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool note;
  };
  std::vector<std::size_t> widths(std::size_t width) const;
  std::size_t left_;
  std::vector<Row> rows_;
};

// At so many digits, "-" for what is not finite; large numbers with a comma each thousand, until they are too
// large to be read: 0.01234, 12.34, 1,234, 1e+15.
std::string shown_number(double value, int digits);
std::string grouped(std::int64_t value);  // 2,012
std::string shown_percent(double share);  // 12.3 %
// "12.3 ±0.4"; without the interval where there is none.
std::string shown_estimate(double mean, double half_width);

}  // namespace weir
