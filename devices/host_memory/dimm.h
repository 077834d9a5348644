#pragma once
// The row of the catalog as a device: numbers alone. Used inside devices/host_memory only.
#include "devices/host_memory/host_memory.h"

namespace weir {

class Dimm final : public Device {
 public:
  Dimm(DeviceSpec spec, DimmShape shape) : spec_(std::move(spec)), shape_(std::move(shape)) {}

  const DeviceSpec& spec() const override { return spec_; }
  const DimmShape& shape() const { return shape_; }
  KernelCost cost(const KernelWork& work, int unit) const override;
  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override;
  std::string cannot_run(std::span<const KernelWork> all) const override;

 private:
  DeviceSpec spec_;
  DimmShape shape_;
};

}  // namespace weir
