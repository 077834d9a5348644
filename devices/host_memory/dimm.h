#pragma once
// The row of the catalog as a device: numbers alone. Used inside devices/host_memory only.
#include "devices/host_memory/host_memory.h"

namespace weir {

class Dimm final : public Device {
 public:
  Dimm(DeviceSpec spec, DimmShape shape) : spec_(std::move(spec)), shape_(std::move(shape)) {}

  const DeviceSpec& spec() const override { return spec_; }
  const DimmShape& shape() const { return shape_; }
  KernelCost cost(const Operator& op, const BatchShape&, const CollectiveModel&) const override;
  AffineKernelCost decode_attention(const Operator& op, const BatchShape&) const override;
  std::string cannot_run(const StageGraph&) const override;

 private:
  DeviceSpec spec_;
  DimmShape shape_;
};

}  // namespace weir
