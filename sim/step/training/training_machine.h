#pragma once
// What a training step runs on: a host's CPU, a GPU, a memory that computes, as far as there are any, and
// what lies between them. Made by whoever reads a scenario or a study's row.
#include <algorithm>
#include <memory>

#include "devices/device.h"

namespace weir {

struct TrainingMachine {
  std::shared_ptr<const Device> cpu, gpu, memory;  // null: none
  // Of one kernel in the memory, started and awaited by the host. ESTIMATE: as a GPU's launch and its
  // synchronisation; Liu et al. (MICRO 2018) give none.
  Seconds synchronisation = Seconds(20e-6);

  // What tensors reach the CPU over, wherever they lie.
  BytesPerSecond to_cpu() const {
    if (!memory) return cpu->spec().own().bandwidth;
    return std::min(memory->spec().own().bandwidth, memory->spec().host_bandwidth);
  }
};

}  // namespace weir
