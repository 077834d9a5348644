#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/text_grid.h"
#include "sim/app/reproduce/reproduce.h"

namespace weir {
namespace {

constexpr std::size_t narrow = 120;  // the physical columns beside the others need more

std::string shown(const std::optional<double>& value) {
  return value ? shown_number(*value, 4) : "-";
}

std::string bounds(const std::optional<double>& low, const std::optional<double>& high) {
  return low || high ? fmt::format("{} .. {}", shown(low), shown(high)) : "";
}

std::string verdict(const ReproducedRow& r) {
  return !r.judged() ? "reported" : r.within() ? "within" : "OUTSIDE";
}

}  // namespace

std::string rows_table(const std::vector<ReproducedRow>& rows, std::size_t width) {
  const bool both = std::ranges::any_of(rows, [](const ReproducedRow& r) { return r.physical.has_value(); });
  const bool beside = both && width > narrow;
  TextGrid grid(2);
  const auto add = [&](std::vector<std::string> row, std::vector<std::string> physical, std::string last) {
    if (beside) row.insert(row.end(), physical.begin(), physical.end());
    row.push_back(std::move(last));
    grid.add(std::move(row));
  };
  add({"id", "metric", "reference", "simulated", "accepted"}, {"physical", "accepted"}, "verdict");
  for (const ReproducedRow& r : rows) {
    const std::string accepted = bounds(r.physical_accept_min, r.physical_accept_max);
    add({r.id, r.metric, shown(r.paper), shown(r.simulated), bounds(r.accept_min, r.accept_max)},
        {shown(r.physical), accepted}, verdict(r));
    if (both && !beside && r.physical) grid.add({"", "nothing fitted", "", shown(r.physical), accepted, ""});
    if (!r.note.empty()) grid.note(r.note);
  }
  return grid.text(width);
}

}  // namespace weir
