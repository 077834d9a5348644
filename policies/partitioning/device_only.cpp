#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/partitioning.h"

namespace weir {
namespace {

class DeviceOnly final : public PartitioningPolicy {
 public:
  StageGraph place(StageGraph stage, std::span<const std::string> units) const override {
    if (std::ranges::find(units, "systolic") != units.end())
      throw std::invalid_argument(
          "device_only runs one kernel after another on one unit, and an NPU has several: its partitioning "
          "is npu_units, or npu_pim where it has PIM");
    const auto link = std::ranges::find(units, "link");
    return rewrite(std::move(stage), [&](const OperatorGraph& from, std::size_t v) -> Replacement {
      Operator op = from[v];
      const bool collective = is_collective(op.kind);
      if (collective && link == units.end())
        throw std::invalid_argument(
            fmt::format("device_only: {} needs a unit \"link\", which the device has not", op.name));
      op.unit = collective ? static_cast<int>(link - units.begin()) : 0;
      return op;
    });
  }
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params&) {
  return std::make_shared<DeviceOnly>();
}

}  // namespace weir
