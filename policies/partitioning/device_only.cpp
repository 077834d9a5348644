#include <fmt/format.h>

#include <stdexcept>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/partitioning.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

// Between GEMMs a kernel of the same unit runs: a device where that is another one is an NPU.
bool has_one_unit_for_kernels(std::span<const Unit> units) {
  return unit_running(units, KernelKind::gemm) == unit_running(units, KernelKind::elementwise);
}

class DeviceOnly final : public PartitioningPolicy {
 public:
  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    if (!has_one_unit_for_kernels(units))
      throw std::invalid_argument(
          "device_only runs one kernel after another on one unit, and an NPU has several: its partitioning "
          "is npu_units, or npu_pim where it has PIM");
    return each_on_its_unit(std::move(stage), units, "device_only");
  }
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params&) {
  return std::make_shared<DeviceOnly>();
}

}  // namespace weir
