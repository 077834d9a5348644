#pragma once
// A table for the terminal: the first column to the left, the rest to the right, each as wide as its cells.
#include <string>
#include <vector>

namespace weir {

class TextGrid {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// At so many digits, "-" for what is not finite; large numbers with a comma each thousand, until they are too
// large to be read: 0.01234, 12.34, 1,234, 1e+15.
std::string shown_number(double value, int digits);
std::string shown_percent(double share);  // 12.3 %
// "12.3 ±0.4"; without the interval where there is none.
std::string shown_estimate(double mean, double half_width);

}  // namespace weir
