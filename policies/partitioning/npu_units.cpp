#include "policies/partitioning/partitioning.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

class NpuUnits final : public PartitioningPolicy {
 public:
  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    return each_on_its_unit(std::move(stage), units, "npu_units");
  }
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_npu_units_partitioning(Params&) {
  return std::make_shared<NpuUnits>();
}

}  // namespace weir
