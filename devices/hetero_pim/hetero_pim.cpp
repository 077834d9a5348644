#include "devices/hetero_pim/hetero_pim.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "devices/hetero_pim/only_trains.h"
#include "devices/kernel_shapes.h"
#include "models/nn/tensor_operation.h"

namespace weir {
namespace {

class HeteroPim final : public Device {
 public:
  HeteroPim(DeviceSpec spec, StackProcessors processors, StackStreams streams)
      : spec_(std::move(spec)), processors_(std::move(processors)), streams_(std::move(streams)) {
    if (const int pairs = processors_.all_pairs(); pairs > 0) {
      pairs_unit_ = static_cast<int>(spec_.units.size());
      spec_.units.push_back({"pairs", {multiply_add_kind}});
      spec_.units.back().amount = pairs;
    }
    if (processors_.arm_cores > 0) spec_.units.push_back({"arm", {tensor_operation_kind, multiply_add_kind}});
  }

  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const KernelWork& work, int unit) const override {
    const auto* operation = work.as<TensorOperation>();
    if (!operation) no_kernel(work, spec_);
    KernelCost cost;
    cost.flops = Flops(operation->work.total());
    cost.moved[own_memory] = operation->read + operation->written;
    cost.traffic = streams_.time(operation->read, operation->written);
    cost.compute = unit == pairs_unit_ ? on_pairs(work, *operation) : on_arm(*operation);
    // A matrix of patches that the ARM cores gather is a time alone: its bytes are neither moved, nor is
    // energy spent on them, as if their caches held it.
    cost.traffic = std::max(cost.traffic, streams_.patches(*operation, cost.compute));
    cost.time = std::max(cost.compute, cost.traffic);
    const Joules moving = spec_.power.dynamic(Flops(0), cost.moved[own_memory], Bytes(0));
    cost.energy =
        moving + (unit == pairs_unit_ ? spec_.power.dynamic(cost.flops, Bytes(0), Bytes(0))
                                      : processors_.arm_cores * (processors_.arm_power * cost.time));
    return cost;
  }

  // A window of k elements takes k multipliers and k - 1 adders, k pairs, and runs whole. One that is larger
  // than all pairs has them all, cycle after cycle. Products without a window take any number of pairs.
  PoolShare pool_share(const KernelWork& work, int) const override {
    const auto& operation = *work.as<TensorOperation>();
    const double pairs = processors_.all_pairs();
    const double window = std::min(pairs, static_cast<double>(std::max<std::int64_t>(operation.window, 1)));
    const double windows = std::max(1., std::ceil(steps(operation) / (processors_.lanes * window)));
    return {window, window * std::min(std::floor(pairs / window), windows)};
  }

  std::shared_ptr<const Device> at_clock(double multiple) const override {
    DeviceSpec spec = spec_;
    spec.units.clear();
    spec.peak = [peak = spec_.peak, multiple](DataType type) { return multiple * peak(type); };
    StackProcessors faster = processors_;
    faster.pairs_per_second *= multiple;
    faster.arm_multiply_adds *= multiple;
    faster.arm_elements *= multiple;
    faster.arm_power = multiple * faster.arm_power;
    return make_hetero_pim(std::move(spec), std::move(faster), streams_);
  }

  std::string cannot_run(std::span<const KernelWork> all) const override { return only_trains(spec_, all); }

 private:
  // A step of a lane is one multiplication and one addition.
  static double steps(const TensorOperation& operation) {
    return std::max(operation.work.multiplications, operation.work.additions);
  }

  // Whole cycles: with a few steps more an operator takes more pairs, and no less time.
  Seconds on_pairs(const KernelWork& work, const TensorOperation& operation) const {
    const double a_cycle = pool_share(work, pairs_unit_).most * processors_.lanes;
    return Seconds(std::ceil(steps(operation) / a_cycle) / processors_.pairs_per_second);
  }

  Seconds on_arm(const TensorOperation& operation) const {
    const Arithmetic& work = operation.work;
    const double seconds = (work.multiplications + work.additions) / processors_.arm_multiply_adds +
                           (work.other + operation.patches.elements) / processors_.arm_elements;
    return Seconds(seconds / processors_.arm_cores);
  }

  DeviceSpec spec_;
  StackProcessors processors_;
  StackStreams streams_;
  int pairs_unit_ = -1;
};

}  // namespace

int StackProcessors::all_pairs() const {
  return std::accumulate(pairs.begin(), pairs.end(), 0);
}

std::shared_ptr<const Device> make_hetero_pim(DeviceSpec spec, StackProcessors processors,
                                              StackStreams streams) {
  return std::make_shared<HeteroPim>(std::move(spec), std::move(processors), std::move(streams));
}

}  // namespace weir
