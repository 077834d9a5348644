#include "policies/runtime/step_profile.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <set>
#include <stdexcept>
#include <string>

namespace weir {
namespace {

constexpr double sum_rounding = 1e-12;  // of a sum of times: 6 ms and 3 ms are 0.9 of 10 ms

void check(const StepProfile& profile, double share) {
  if (!(share > 0 && share <= 1))
    throw std::invalid_argument("candidates shall cover " + std::to_string(share) +
                                " of a step, which is not in (0, 1]");
  std::set<OperatorType> seen;
  for (const TypeProfile& row : profile) {
    const std::string name(to_string(row.type));
    if (!seen.insert(row.type).second) throw std::invalid_argument(name + " has two rows in a profile");
    for (const double number : {static_cast<double>(row.invocations), row.time.value(), row.accesses})
      if (!(number >= 0 && std::isfinite(number)))
        throw std::invalid_argument(name + " has " + std::to_string(number) + " in a profile");
  }
}

struct RankedType {
  const TypeProfile* row;
  std::ptrdiff_t sum;  // of its indices
};

// Rows with one sum and one time have one count of accesses too.
bool goes_first(const RankedType& a, const RankedType& b) {
  if (a.sum != b.sum) return a.sum < b.sum;
  if (a.row->time != b.row->time) return a.row->time > b.row->time;
  return a.row->type < b.row->type;
}

std::vector<RankedType> ranked(const StepProfile& profile) {
  std::vector<RankedType> types;
  for (const TypeProfile& row : profile) {
    const auto index_by = [&](auto number) {
      return std::ranges::count_if(profile,
                                   [&](const TypeProfile& other) { return number(other) > number(row); });
    };
    types.push_back({&row, index_by([](const TypeProfile& one) { return one.time.value(); }) +
                               index_by([](const TypeProfile& one) { return one.accesses; })});
  }
  std::ranges::sort(types, goes_first);
  return types;
}

}  // namespace

std::vector<OperatorType> offload_candidates(const StepProfile& profile, double share) {
  check(profile, share);
  const std::vector<RankedType> types = ranked(profile);
  Seconds step;
  for (const RankedType& type : types) step += type.row->time;  // in the order in which they are taken
  const Seconds enough = share * (1 - sum_rounding) * step;
  std::vector<OperatorType> taken;
  Seconds covered;
  for (auto next = types.begin(); next != types.end() && covered < enough; ++next) {
    taken.push_back(next->row->type);
    covered += next->row->time;
  }
  return taken;
}

}  // namespace weir
