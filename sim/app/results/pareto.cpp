#include "sim/app/results/pareto.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) return false;
    better |= a[i] > b[i];
  }
  return better;
}

bool defined(const std::vector<double>& row) {
  return std::none_of(row.begin(), row.end(), [](double x) { return std::isnan(x); });
}

}  // namespace

// In falling lexical order a row can be dominated only by an earlier one, and, dominance being transitive,
// only by one of the front so far.
std::vector<std::size_t> non_dominated(const std::vector<std::vector<double>>& rows) {
  std::vector<std::size_t> order, front;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (defined(rows[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a] > rows[b]; });
  for (const std::size_t i : order)
    if (std::none_of(front.begin(), front.end(), [&](std::size_t f) { return dominates(rows[f], rows[i]); }))
      front.push_back(i);
  std::sort(front.begin(), front.end());
  return front;
}

}  // namespace weir
