#pragma once
// A device whose decodes are attended to by something else than itself, PIM in its own memory or its host's:
// all other operators are the device's. Base of those in host_memory/ and gpu_pim/.
#include "devices/device.h"

namespace weir {

class DecodesElsewhere : public Device {
 public:
  DecodesElsewhere(std::shared_ptr<const Device> device, DeviceSpec spec);

  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const override;
  KernelCost cost_by_member(const Operator& op, const BatchShape& batch,
                            std::span<Seconds> times) const override;
  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override;
  bool measures_sampler() const override { return device_->measures_sampler(); }
  std::string cannot_run(const StageGraph& stage) const override;

 protected:
  virtual const Memory& attending_memory() const { return spec_.own(); }
  // Decodes that the device attends to all the same.
  virtual bool has(const DecodeContext&) const { return false; }
  // Costs decode_attention and what crosses the link to the host; a line over the steps of a decode.
  virtual KernelCost elsewhere(const Operator& op, const BatchShape& batch) const = 0;

 private:
  BatchShape own_part(const Operator& op, BatchShape batch) const;

  std::shared_ptr<const Device> device_;
  DeviceSpec spec_;
};

}  // namespace weir
