#pragma once
// The memory of a node's host as a place for KV caches and weights: by itself a row of the catalog, beside
// devices that run a model cut into as many shares as the node has of these, each with the link of its own
// device. What computes there is units that the device gains. The plan asks (sim/plan/placement.cpp).
#include "devices/device.h"

namespace weir {

class HostMemory : public Device {
 public:
  // Why so many devices cannot share the memory evenly, or "".
  virtual std::string cannot_share(int devices) const = 0;
  // `device` with its share of the memory, one of so many, as its last memory.
  virtual std::shared_ptr<const Device> beside(std::shared_ptr<const Device> device, int devices,
                                               Memory::KeptFor kept_for) const = 0;

  // But beside a device that has a share of it no memory has a kernel.
  KernelCost cost(const KernelWork& work, int unit) const override;
  std::string cannot_run(std::span<const KernelWork> all) const override;
};

}  // namespace weir
