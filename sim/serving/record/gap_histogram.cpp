#include <algorithm>
#include <cmath>

#include "sim/serving/record/results.h"

namespace weir {
namespace {

constexpr double bin_width = 1e-3;  // of the natural logarithm: a percentile is off by 0.05 % at most
constexpr double shortest = 1e-9;   // SimGrid's own resolution

std::int64_t index_of(double gap) {
  return static_cast<std::int64_t>(std::floor(std::log(std::max(gap, shortest)) / bin_width));
}

}  // namespace

double& GapHistogram::bin(std::int64_t index) {
  if (bins_.empty()) lowest_ = index;
  if (index < lowest_) {
    bins_.insert(bins_.begin(), static_cast<std::size_t>(lowest_ - index), 0.0);
    lowest_ = index;
  }
  const auto at = static_cast<std::size_t>(index - lowest_);
  if (at >= bins_.size()) bins_.resize(at + 1, 0.0);
  return bins_[at];
}

void GapHistogram::add(Seconds gap, double count) {
  bin(index_of(gap.value())) += count;
  count_ += count;
  sum_ += count * gap.value();
  squares_ += count * gap.value() * gap.value();
}

void GapHistogram::add_run(Seconds first, Seconds slope, std::int64_t steps, double count) {
  const double a = first.value(), b = slope.value(), n = static_cast<double>(steps);
  const double i1 = n * (n - 1) / 2, i2 = (n - 1) * n * (2 * n - 1) / 6;  // sums of i and of i squared
  count_ += count * n;
  sum_ += count * (n * a + b * i1);
  squares_ += count * (n * a * a + 2 * a * b * i1 + b * b * i2);
  if (b <= 0) {  // equal steps; a shrinking gap does not occur in a decode run
    bin(index_of(a)) += count * n;
    return;
  }
  const std::int64_t last_bin = index_of(a + b * (n - 1));
  double done = 0;
  for (std::int64_t i = index_of(a); i <= last_bin && done < n; ++i) {
    const double edge = std::exp(static_cast<double>(i + 1) * bin_width);
    const double upto = i == last_bin ? n : std::clamp(std::ceil((edge - a) / b), done, n);
    if (upto > done) bin(i) += count * (upto - done);
    done = upto;
  }
}

double GapHistogram::count() const {
  return count_;
}

Seconds GapHistogram::mean() const {
  return Seconds(count_ > 0 ? sum_ / count_ : 0);
}

Seconds GapHistogram::standard_deviation() const {
  if (count_ <= 0) return Seconds(0);
  const double mean = sum_ / count_;
  return Seconds(std::sqrt(std::max(0.0, squares_ / count_ - mean * mean)));
}

Seconds GapHistogram::percentile(double p) const {
  const double wanted = p / 100 * count_;
  double seen = 0;
  std::int64_t index = lowest_;
  for (double n : bins_) {
    seen += n;
    if (n > 0 && seen >= wanted) break;
    ++index;
  }
  if (bins_.empty()) return Seconds(0);
  index = std::min(index, lowest_ + static_cast<std::int64_t>(bins_.size()) - 1);
  return Seconds(std::exp((static_cast<double>(index) + 0.5) * bin_width));
}

}  // namespace weir
