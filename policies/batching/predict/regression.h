#pragma once
// Models of a time by what it depends on, fitted to samples by dlib. LearnedTimes asks; nobody else needs
// them.
#include <memory>
#include <span>
#include <vector>

namespace weir {

struct Samples {
  std::vector<std::vector<double>> work;  // features, as many each
  std::vector<double> seconds;            // above 0
};

class Regression {
 public:
  virtual ~Regression() = default;
  virtual double operator()(std::span<const double> work) const = 0;  // seconds
};
using Fit = std::unique_ptr<const Regression>(const Samples& samples);  // of at least one

Fit random_forest, least_squares;

}  // namespace weir
