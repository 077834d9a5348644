#pragma once
// A memory of a host adds this to a device beside it, whichever it is: resources behind the device's own, a
// last memory, and its part of power and price. Units are its own to add. Classes that implement HostMemory
// call this.
#include "devices/host_memory/host_memory.h"

namespace weir {

// Resources that the host adds.
struct HostResources {
  std::size_t to_host, from_host, memory;

  std::vector<Port> ports() const {
    return {{static_cast<int>(to_host)}, {static_cast<int>(from_host)}, {static_cast<int>(memory)}};
  }
};

struct HostShare {
  DeviceSpec spec;  // the device's, with the share
  HostResources host;
};

// `bus`: of the share's channels together.
HostShare share_of_host(const Device& device, const DeviceSpec& memory, int devices, BytesPerSecond bus,
                        Memory::KeptFor kept_for);

// Over the device's link to the host; channels that take or give less are what it waits for.
KernelCost copy_over_link(const DeviceSpec& device, const HostResources& host, const KernelWork& work,
                          BytesPerSecond channels);

}  // namespace weir
