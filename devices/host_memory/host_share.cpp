#include "devices/host_memory/host_share.h"

#include <algorithm>

#include "devices/kernel_shapes.h"

namespace weir {

KernelCost HostMemory::cost(const KernelWork& work, int) const {
  no_kernel(work, spec());
}

std::string HostMemory::cannot_run(std::span<const KernelWork>) const {
  return spec().kind + " is memory of a host: it holds KV caches beside the devices of its node";
}

HostShare share_of_host(const Device& device, const DeviceSpec& memory, int devices, BytesPerSecond bus,
                        Memory::KeptFor kept_for) {
  DeviceSpec spec = device.spec();
  const std::size_t first = interconnect + 1 + spec.more_resources.size();
  spec.more_resources.insert(spec.more_resources.end(),
                             {{"to host", spec.host_bandwidth, ClusterLink::to_host},
                              {"from host", spec.host_bandwidth, ClusterLink::from_host},
                              {"host memory", bus, ClusterLink::host_memory}});
  spec.memories.push_back(memory.own());
  Memory& share = spec.memories.back();
  share.capacity = memory.own().capacity / devices;
  share.bandwidth = bus;
  if (share.sustained) share.sustained = *share.sustained / devices;
  share.kept_for = kept_for;
  share.of_host = true;
  spec.power.idle += memory.power.idle / devices;
  spec.power.tdp += memory.power.tdp / devices;
  spec.dollars_per_hour += memory.dollars_per_hour / devices;
  return {std::move(spec), {first, first + 1, first + 2}};
}

KernelCost copy_over_link(const DeviceSpec& device, const HostResources& host, const KernelWork& work,
                          BytesPerSecond channels) {
  const Copy& copied = std::get<Copy>(work.kernel);
  const Bytes bytes = work.rows * (work.share * copied.per_row);
  KernelCost cost;
  cost.moved[copied.way == Copy::Way::back ? host.from_host : host.to_host] = bytes;
  cost.moved[host.memory] = bytes;
  cost.time = cost.traffic = bytes / std::min(device.host_bandwidth, channels);
  cost.energy = device.power.per_link_byte * bytes;
  return cost;
}

}  // namespace weir
