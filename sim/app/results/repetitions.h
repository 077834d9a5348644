#pragma once
// Points that differ in their seed alone are repetitions of one experiment: their mean, and how sure of it we
// are. Compare and plot look at results through this; a run, or a sweep without seeds, has one point in each.
#include <string>
#include <vector>

#include "sim/app/results/result_set.h"

namespace weir {

struct Estimate {
  int count = 0;
  double mean = 0;        // NaN of nothing
  double half_width = 0;  // of the 95 % confidence interval by Student's t; NaN of fewer than two values
};
Estimate estimate(const std::vector<double>& values);
bool overlap(const Estimate& a, const Estimate& b);  // of the intervals; both must have one

struct Repeated {
  Varied varied;                           // the seed left out
  std::vector<const PointResult*> points;  // of the ResultSet, which outlives this

  std::vector<const PointResult*> done() const;
  Estimate metric(const std::string& name) const;  // over the points that are done and define it
};
std::vector<Repeated> repetitions(const ResultSet& results);  // in the order of their first points

}  // namespace weir
