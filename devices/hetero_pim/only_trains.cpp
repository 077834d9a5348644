#include "devices/hetero_pim/only_trains.h"

#include <fmt/format.h>

#include "devices/kernel_shapes.h"
#include "models/nn/tensor_operation.h"

namespace weir {

std::string only_trains(const DeviceSpec& device, std::span<const KernelWork> all) {
  for (const KernelWork& work : all)
    if (!work.as<TensorOperation>()) return fmt::format("{} runs training operators alone", device.kind);
  return lacks_a_peak(device, all);
}

}  // namespace weir
