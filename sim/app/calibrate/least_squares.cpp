#include "sim/app/calibrate/least_squares.h"

#include <algorithm>
#include <cmath>

// dlib is taken without LAPACK, whose libraries every start of weir would load (policies/batching/predict).
#include <dlib/assert.h>
#include <dlib/test_for_odr_violations.h>
#undef DLIB_USE_BLAS
#undef DLIB_USE_LAPACK
#include <dlib/matrix.h>
#include <dlib/optimization/optimization.h>

namespace weir {
namespace {

using Column = dlib::matrix<double, 0, 1>;

Column column_of(const Effects& effects, std::size_t k) {
  Column column(static_cast<long>(effects.size()));
  for (std::size_t i = 0; i < effects.size(); ++i) column(static_cast<long>(i)) = effects[i][k];
  return column;
}

constexpr double outlier = 3;  // times noise

double slope(double r) {
  return 2 * r / std::sqrt(1 + r * r / (outlier * outlier));
}

}  // namespace

double fit_loss(double error) {
  return 2 * outlier * outlier * (std::sqrt(1 + error * error / (outlier * outlier)) - 1);
}

std::vector<Told> told_by(const Effects& effects) {
  const std::size_t constants = effects.empty() ? 0 : effects[0].size();
  std::vector<Told> told(constants);
  std::vector<std::pair<std::size_t, Column>> basis;  // orthonormal
  for (std::size_t k = 0; k < constants; ++k) {
    Column rest = column_of(effects, k);
    told[k].alone = dlib::length(rest);
    for (const auto& [number, direction] : basis) {
      const double part = dlib::dot(rest, direction);
      rest -= part * direction;
      if (std::abs(part) > 0.5 * told[k].alone) told[k].beside.push_back(number);
    }
    const double left = dlib::length(rest);
    told[k].told = left > 1;
    if (told[k].told) basis.emplace_back(k, Column(rest / left));
  }
  return told;
}

std::vector<double> best_changes(const std::vector<double>& offsets, const Effects& effects,
                                 const std::vector<bool>& is_free, const std::vector<double>& least,
                                 const std::vector<double>& most) {
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < is_free.size(); ++k)
    if (is_free[k]) chosen.push_back(k);
  std::vector<double> changes(is_free.size(), 0);
  if (chosen.empty()) return changes;
  const long n = static_cast<long>(chosen.size());
  const auto residual = [&](const Column& x, std::size_t i) {
    double r = offsets[i];
    for (long j = 0; j < n; ++j) r += effects[i][chosen[static_cast<std::size_t>(j)]] * x(j);
    return r;
  };
  const auto cost = [&](const Column& x) {
    double sum = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) sum += fit_loss(residual(x, i));
    return sum;
  };
  const auto gradient = [&](const Column& x) {
    Column sum = dlib::zeros_matrix(x);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const double s = slope(residual(x, i));
      for (long j = 0; j < n; ++j) sum(j) += s * effects[i][chosen[static_cast<std::size_t>(j)]];
    }
    return sum;
  };
  Column x(n), lower(n), upper(n);
  for (long j = 0; j < n; ++j) {
    const std::size_t k = chosen[static_cast<std::size_t>(j)];
    x(j) = std::clamp(0.0, least[k], most[k]);
    lower(j) = least[k];
    upper(j) = most[k];
  }
  dlib::find_min_box_constrained(dlib::lbfgs_search_strategy(10),
                                 dlib::objective_delta_stop_strategy(1e-10, 1000), cost, gradient, x, lower,
                                 upper);
  for (long j = 0; j < n; ++j) changes[chosen[static_cast<std::size_t>(j)]] = x(j);
  return changes;
}

}  // namespace weir
