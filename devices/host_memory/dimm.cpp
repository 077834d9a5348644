#include "devices/host_memory/dimm.h"

#include <stdexcept>

namespace weir {

KernelCost Dimm::cost(const Operator& op, const BatchShape&, const CollectiveModel&) const {
  throw std::logic_error(spec_.kind + " runs " + op.name + " only beside a device that has a share of it");
}

AffineKernelCost Dimm::decode_attention(const Operator& op, const BatchShape&) const {
  throw std::logic_error(spec_.kind + " runs " + op.name + " only beside a device that has a share of it");
}

std::string Dimm::cannot_run(const StageGraph&) const {
  return spec_.kind + " is memory of a host: it holds KV caches beside the devices of its node";
}

std::shared_ptr<const Device> make_dimm(DeviceSpec spec, DimmShape shape) {
  return std::make_shared<Dimm>(std::move(spec), std::move(shape));
}

}  // namespace weir
