#pragma once
// A training step runs on a host's CPU, a GPU, a memory that computes, as far as there are any, and on the
// links between them. Made by whoever reads a scenario or a study's row.
#include <algorithm>
#include <memory>

#include "devices/device.h"
#include "models/latency/collectives.h"
#include "policies/runtime/runtime.h"

namespace weir {

struct TrainingMachine {
  std::shared_ptr<const Device> cpu, gpu, memory;  // null: none
  // The host takes so long to start and await one kernel in the memory. ESTIMATE: as a GPU's launch and its
  // synchronisation; Liu et al. (MICRO 2018) give none.
  Seconds synchronisation = Seconds(20e-6);
  Watts host_waiting;  // of a CPU beside a memory that computes, above idle, while it runs no operator

  // As many machines like this one train copies of a net, each on batches of its own, and all-reduce the
  // gradients over these links; null where there is one.
  int copies = 1;
  std::shared_ptr<const CollectiveModel> links = nullptr;

  // Tensors reach the CPU over this, wherever they lie.
  BytesPerSecond to_cpu() const {
    if (!memory) return cpu->spec().own().bandwidth;
    return std::min(memory->spec().own().bandwidth, memory->spec().host_bandwidth);
  }
};

// What the machine has not that the policy needs, in words; "" if it has all.
std::string lacks(const TrainingMachine& machine, const RuntimePolicy& policy);

}  // namespace weir
