#include "policies/partitioning/npu_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/partitioning.h"

namespace weir {
namespace {

const char* unit_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::gemm:
    case OperatorKind::grouped_gemm:
    case OperatorKind::attention:
      return "systolic";
    case OperatorKind::softmax:
    case OperatorKind::elementwise:
      return "vector";
    case OperatorKind::logit:
    case OperatorKind::attend:
      throw std::invalid_argument("npu_units: attention is whole where it is placed");
    case OperatorKind::all_reduce:
    case OperatorKind::all_gather:
    case OperatorKind::all_to_all:
      return "link";
    case OperatorKind::decode_attention:
    case OperatorKind::offload:
    case OperatorKind::onload:
    case OperatorKind::store:
      throw std::invalid_argument("npu_units: nothing is offloaded before it is placed");
    case OperatorKind::prefetch:
      throw std::invalid_argument("npu_units: prefetches come after the partitioning");
  }
  return "";
}

class NpuUnits final : public PartitioningPolicy {
 public:
  StageGraph place(StageGraph stage, std::span<const std::string> units) const override {
    return place_on_npu(std::move(stage), units, "npu_units");
  }
};

}  // namespace

int unit_named(std::span<const std::string> units, const char* unit, const char* policy) {
  const auto found = std::ranges::find(units, unit);
  if (found == units.end())
    throw std::invalid_argument(fmt::format("{} needs a unit \"{}\", which the device has not (it has {})",
                                            policy, unit, fmt::join(units, ", ")));
  return static_cast<int>(found - units.begin());
}

StageGraph place_on_npu(StageGraph stage, std::span<const std::string> units, const char* policy) {
  return rewrite(std::move(stage), [&](const OperatorGraph& from, std::size_t v) -> Replacement {
    Operator op = from[v];
    op.unit = unit_named(units, unit_of(op.kind), policy);
    return op;
  });
}

std::shared_ptr<const PartitioningPolicy> make_npu_units_partitioning(Params&) {
  return std::make_shared<NpuUnits>();
}

}  // namespace weir
