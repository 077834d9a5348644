#pragma once
// A reduction makes one number of those at every value of some axes: mean[model](gain).
#include <string>
#include <vector>

namespace weir::study {

struct Reduction {
  std::string name, summary;
  double (*of)(const std::vector<double>& values);  // not of none, where it gives a missing value
  bool of_none = false;                             // 0 where there is no value
  bool gives_place = false;                         // the index of a value, rather than one
};
const std::vector<Reduction>& reductions();

}  // namespace weir::study
