#include "sim/studies/study_file/formula/reductions.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace weir::study {
namespace {

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.);
}

double mean_of(const std::vector<double>& values) {
  return sum(values) / static_cast<double>(values.size());
}

double least_of(const std::vector<double>& values) {
  return std::ranges::min(values);
}

double most_of(const std::vector<double>& values) {
  return std::ranges::max(values);
}

double how_many(const std::vector<double>& values) {
  return static_cast<double>(values.size());
}

double place_of_least(const std::vector<double>& values) {
  return static_cast<double>(std::ranges::min_element(values) - values.begin());
}

double place_of_most(const std::vector<double>& values) {
  return static_cast<double>(std::ranges::max_element(values) - values.begin());
}

double never_falls(const std::vector<double>& values) {
  return std::ranges::is_sorted(values);
}

double never_rises(const std::vector<double>& values) {
  return std::ranges::is_sorted(values, std::greater<>());
}

}  // namespace

const std::vector<Reduction>& reductions() {
  static const std::vector<Reduction> table = {
      {"mean", "arithmetic mean", mean_of},
      {"sum", "sum", sum, true},
      {"min", "the least", least_of},
      {"max", "the most", most_of},
      {"count", "how many there are", how_many, true},
      {"argmin", "the axis' value where it is least, the first of several", place_of_least, false, true},
      {"argmax", "the axis' value where it is most, the first of several", place_of_most, false, true},
      {"rises", "1 where no value is below the one before, else 0", never_falls},
      {"falls", "1 where no value is above the one before, else 0", never_rises},
  };
  return table;
}

}  // namespace weir::study
