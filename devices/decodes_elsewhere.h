#pragma once
// A device with more units, in its own memory or its host's, that attend to decodes, copy what these read and
// may compute neurons: all other kernels are the device's. Base of those in host_memory/, gpu_pim/ and
// ndp_dimm/.
#include "devices/device.h"

namespace weir {

class DecodesElsewhere : public Device {
 public:
  // `spec` is the device's with these units, so many, behind its own.
  DecodesElsewhere(std::shared_ptr<const Device> device, DeviceSpec spec, std::size_t more_units);

  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const KernelWork& work, int unit) const override;
  KernelCost cost_by_member(const KernelWork& work, int unit, std::span<Seconds> times) const override;
  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override;
  bool measures_sampler() const override { return device_->measures_sampler(); }
  std::string cannot_run(std::span<const KernelWork> all) const override;
  std::vector<std::string> analytic_layers(std::span<const KernelWork> all) const override {
    return device_->analytic_layers(all);
  }
  std::string stand_ins(std::span<const KernelWork> all) const override { return device_->stand_ins(all); }

 protected:
  virtual const Memory& attending_memory() const { return spec_.own(); }
  // Costs what these units run, the first of which is 0; a line over the steps of a decode.
  virtual KernelCost elsewhere(const KernelWork& work, int unit) const = 0;
  // The same by all members of the unit: copies for which all ranksets stop, unless a device knows better.
  virtual KernelCost elsewhere(const KernelWork& work, int unit, std::span<Seconds> times) const;

 private:
  bool is_elsewhere(int unit) const { return unit >= first_elsewhere_; }

  std::shared_ptr<const Device> device_;
  DeviceSpec spec_;
  int first_elsewhere_;  // unit
};

}  // namespace weir
