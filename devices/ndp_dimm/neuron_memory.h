#pragma once
// A host's memory on which all weights and KV caches lie and which computes neurons and attends to decodes
// (Hermes). A device beside it gains, behind its own units and in this order: ndp_dimms or host_cpu, whose
// members compute; activation, their activation units and adders; host_link, there and back; and dimm_links,
// a member each pair of DIMMs, where there is one. Who computes what is a partitioning policy's to say. Used
// inside devices/ndp_dimm only.
#include <optional>

#include "devices/host_memory/host_memory.h"
#include "devices/ndp_dimm/neuron_member.h"
#include "models/memory/ndp_dimm/dimm_link.h"

namespace weir {

inline constexpr Key synchronisation_key{
    "synchronisation_us",
    "A synchronisation of a device with its host, launch included: whatever crosses their link takes it."};

struct NeuronShare {  // beside one device
  int members = 1;
  std::shared_ptr<const NeuronMember> member;  // each of them
  BytesPerSecond bus;                          // of the channels
  std::optional<BytesPerSecond> reads;  // of all members on buses of their own; none: over the channels'
  Seconds synchronisation;              // with its launch: of whatever crosses the host's link
  std::optional<DimmLink> link;         // of a pair of members
};

std::shared_ptr<const Device> beside_neurons(std::shared_ptr<const Device> device, const DeviceSpec& memory,
                                             int devices, NeuronShare share, Memory::KeptFor kept_for);

// In the row's own spec, which a device beside it takes over.
Unit computing_unit(const char* name, int members);

}  // namespace weir
