#pragma once
// A neural processing unit with a large second-level cache that software may fill ahead of use (PRESERVE:
// Ascend 910B, and the accelerator of its design space exploration). Its costs are PRESERVE's own performance
// model: an operator takes the longer of its arithmetic at the peak and its bytes over the memory's
// bandwidth, nothing else (where it is not in chunks). Its units: npu, prefetch (a stream that reads memory
// into the cache; only a prefetch policy places operators on it), link. Made by catalog_row.cpp.
#include "devices/device.h"

namespace weir {

struct L2NpuShape {
  double memory_efficiency = 1;  // share of the memory's peak that a stream reaches
  double strided_kv = 1;         // and of that, reads of K and V where the device holds several KV heads
  Seconds chunk_start;           // before a chunk of a matrix, but the first, gets what it reads
};

std::shared_ptr<const Device> make_l2_npu(DeviceSpec spec, L2NpuShape shape);

}  // namespace weir
