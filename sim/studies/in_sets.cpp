#include "sim/studies/in_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir {
namespace {

template <class Fold>
InSets folded(const std::vector<InSets>& all, const Fold& fold) {
  InSets found;
  for (const auto set : {&InSets::paper, &InSets::physical}) {
    std::vector<double> values;
    for (const InSets& one : all)
      if (one.*set) values.push_back(*(one.*set));
    if (!values.empty()) found.*set = fold(values);
  }
  for (const InSets& one : all)
    if (found.error.empty()) found.error = one.error;
  return found;
}

}  // namespace

InSets in_sets(const CaseResult& paper, const CaseResult* physical, double CaseResult::*what,
               const std::string& name) {
  InSets found;
  const auto add = [&](const CaseResult& result, std::optional<double>& value) {
    if (!result.error.empty())
      found.error = fmt::format("{}: {}", name, result.error);
    else if (result.rejected > 0)
      found.error = fmt::format("{}: {:g} requests never fit", name, result.rejected);
    else
      value = result.*what;
  };
  add(paper, found.paper);
  if (physical) add(*physical, found.physical);
  return found;
}

InSets operator/(const InSets& a, const InSets& b) {
  InSets quotient{{}, {}, a.error.empty() ? b.error : a.error};
  for (const auto set : {&InSets::paper, &InSets::physical})
    if (a.*set && b.*set) quotient.*set = *(a.*set) / *(b.*set);
  return quotient;
}

InSets paper_alone(InSets all) {
  all.physical.reset();
  return all;
}

InSets mean(const std::vector<InSets>& all) {
  return folded(all, [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
  });
}

InSets least(const std::vector<InSets>& all) {
  return folded(all, [](const std::vector<double>& values) { return std::ranges::min(values); });
}

InSets largest(const std::vector<InSets>& all) {
  return folded(all, [](const std::vector<double>& values) { return std::ranges::max(values); });
}

ReproducedRow& add_row(ReproducedRows& rows, std::string id, std::string metric,
                       std::optional<double> published, const InSets& simulated, Bounds paper,
                       Bounds physical) {
  ReproducedRow row;
  row.id = std::move(id);
  row.metric = std::move(metric);
  row.paper = published;
  row.simulated = simulated.paper;
  row.physical = simulated.physical;
  row.accept_min = paper.low;
  row.accept_max = paper.high;
  row.physical_accept_min = physical.low;
  row.physical_accept_max = physical.high;
  row.note = simulated.error;
  return rows.emplace_back(std::move(row));
}

std::string csv(const std::optional<double>& value) {
  return value ? fmt::format("{:.5g}", *value) : "";
}

}  // namespace weir
