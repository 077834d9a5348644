#include "models/machine/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {

int unit_running(std::span<const Unit> units, KernelKind kind) {
  const auto found = std::ranges::find_if(units, [kind](const Unit& unit) { return unit.runs(kind); });
  return found == units.end() ? -1 : static_cast<int>(found - units.begin());
}

std::string unit_names(std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Unit link_unit() {
  return {"link", {KernelKind::communication}, {{own_memory}, {interconnect}}};
}

}  // namespace weir
