#include "devices/host_memory/dimm.h"

#include "devices/kernel_shapes.h"

namespace weir {

KernelCost Dimm::cost(const KernelWork& work, int) const {
  no_kernel(work, spec_);  // but beside a device that has a share of it
}

AffineKernelCost Dimm::decode_attention(const KernelWork& work, int) const {
  no_kernel(work, spec_);
}

std::string Dimm::cannot_run(std::span<const KernelWork>) const {
  return spec_.kind + " is memory of a host: it holds KV caches beside the devices of its node";
}

std::shared_ptr<const Device> make_dimm(DeviceSpec spec, DimmShape shape) {
  return std::make_shared<Dimm>(std::move(spec), std::move(shape));
}

}  // namespace weir
