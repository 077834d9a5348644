#include "policies/batching/predict/regression.h"

#include <algorithm>
#include <cmath>

namespace dlib {

// Chosen before dlib's own, which wants a pool of threads: a run is one thread and its process may fork.
template <class Task>
void parallel_for(int begin, std::size_t end, Task& task) {
  for (long i = begin; i < static_cast<long>(end); ++i) task(i);
}

}  // namespace dlib

// Both read dlib's configuration, and nothing else does: without LAPACK, whose libraries every start of weir
// would have to load, four columns are solved as fast.
#include <dlib/assert.h>
#include <dlib/test_for_odr_violations.h>
#undef DLIB_USE_BLAS
#undef DLIB_USE_LAPACK
#include <dlib/matrix.h>
#include <dlib/random_forest.h>

namespace weir {
namespace {

using Column = dlib::matrix<double, 0, 1>;

Column column(std::span<const double> values) {
  return dlib::mat(values.data(), static_cast<long>(values.size()));
}

// Logarithms, as a tree's leaf is a mean: of times that differ a thousandfold it should be near in ratio, as
// RE counts. More trees are hardly better: at prefill attention 16 err by 1.95 %, 64 by 1.87 %, and take four
// times as long to train and to ask (1.1 us).
class Forest final : public Regression {
 public:
  explicit Forest(const Samples& samples) {
    dlib::random_forest_regression_trainer<dlib::dense_feature_extractor> trainer;
    trainer.set_num_trees(16);
    trainer.set_feature_subsampling_fraction(1);  // of the few there are, all count
    trainer.set_min_samples_per_leaf(2);
    trainer.set_seed("weir");
    std::vector<double> logarithms;
    for (const double seconds : samples.seconds) logarithms.push_back(std::log(seconds));
    std::vector<Column> work;
    for (const std::vector<double>& features : samples.work) work.push_back(column(features));
    trees_ = trainer.train(work, logarithms);
  }
  double operator()(std::span<const double> work) const override { return std::exp(trees_(column(work))); }

 private:
  dlib::random_forest_regression_function<dlib::dense_feature_extractor> trees_;
};

// Least squares of relative errors. The least of all solutions, as features may depend on each other or be
// zero in every batch; columns are scaled for this.
class Line final : public Regression {
 public:
  explicit Line(const Samples& samples) {
    const long rows = static_cast<long>(samples.work.size()),
               columns = static_cast<long>(samples.work.front().size());
    dlib::matrix<double> relative(rows, columns);
    for (long i = 0; i < rows; ++i)
      dlib::set_rowm(relative, i) = dlib::trans(column(samples.work[static_cast<std::size_t>(i)])) /
                                    samples.seconds[static_cast<std::size_t>(i)];
    Column scale(columns);
    for (long j = 0; j < columns; ++j) {
      const double most = dlib::max(dlib::colm(relative, j));
      scale(j) = most > 0 ? most : 1;
      dlib::set_colm(relative, j) = dlib::colm(relative, j) / scale(j);
    }
    weights_ = dlib::pointwise_divide(dlib::pinv(relative) * dlib::ones_matrix<double>(rows, 1), scale);
  }
  double operator()(std::span<const double> work) const override { return dlib::dot(weights_, column(work)); }

 private:
  Column weights_;
};

}  // namespace

std::unique_ptr<const Regression> random_forest(const Samples& samples) {
  return std::make_unique<Forest>(samples);
}

std::unique_ptr<const Regression> least_squares(const Samples& samples) {
  return std::make_unique<Line>(samples);
}

}  // namespace weir
