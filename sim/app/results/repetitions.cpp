#include "sim/app/results/repetitions.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "sim/app/results/metric.h"

namespace weir {
namespace {
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
}

Estimate estimate(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  Estimate e{static_cast<int>(values.size()), values.empty() ? undefined : mean, undefined};
  if (values.size() > 1)
    e.half_width = boost::math::quantile(boost::math::students_t(n - 1), 0.975) *
                   std::sqrt(squares / (n - 1)) / std::sqrt(n);
  return e;
}

bool overlap(const Estimate& a, const Estimate& b) {
  return std::abs(a.mean - b.mean) <= a.half_width + b.half_width;
}

std::vector<const PointResult*> Repeated::done() const {
  std::vector<const PointResult*> done;
  for (const PointResult* point : points)
    if (point->status == "done") done.push_back(point);
  return done;
}

Estimate Repeated::metric(const std::string& name) const {
  std::vector<double> values;
  for (const PointResult* point : done())
    if (const double value = metric_of(point->summary, name); std::isfinite(value)) values.push_back(value);
  return estimate(values);
}

std::vector<Repeated> repetitions(const ResultSet& results) {
  std::vector<Repeated> all;
  std::map<std::string, std::size_t> place;
  for (const PointResult& point : results.points) {
    Varied varied = point.varied;
    std::erase_if(varied, [](const auto& v) { return v.first == "/seed"; });
    std::string key;
    for (const auto& [pointer, value] : varied) key += pointer + "=" + value.dump() + "\n";
    const auto [at, fresh] = place.emplace(key, all.size());
    if (fresh) all.push_back({varied, {}});
    all[at->second].points.push_back(&point);
  }
  return all;
}

}  // namespace weir
