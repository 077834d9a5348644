#include "policies/partitioning/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/llm/parts/rewrite.h"

namespace weir {

int unit_for(std::span<const Unit> units, KernelKind kind, const std::string& what, const char* policy) {
  const int unit = unit_running(units, kind);
  if (unit < 0)
    throw std::invalid_argument(
        fmt::format("{} needs a unit that runs {}, which the device has not (it has {})", policy, what,
                    unit_names(units)));
  return unit;
}

// The host's memory itself may copy, too.
int host_link(std::span<const Unit> units) {
  const auto found = std::ranges::find_if(units, [](const Unit& unit) {
    return unit.runs(KernelKind::copy) && !unit.runs(KernelKind::decode_attention);
  });
  return found == units.end() ? -1 : static_cast<int>(found - units.begin());
}

StageGraph each_on_its_unit(StageGraph stage, std::span<const Unit> units, const char* policy) {
  return rewrite(std::move(stage), [&](const OperatorGraph& from, std::size_t v) -> Replacement {
    Operator op = from[v];
    op.unit = unit_for(units, op.kind(), is_collective(op) ? op.name + " over a link" : op.name, policy);
    return op;
  });
}

}  // namespace weir
