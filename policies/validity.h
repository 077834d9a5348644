#pragma once
// Until when a decision is what it was. A policy says so of each answer, and the engine need not ask again
// before; a run that asks at every step (`"fast_forward": false`) gives the same. Devices, which know no
// policy, say the same of a kernel's cost in steps (AffineKernelCost::steps, Device::line_steps).
#include <cstdint>
#include <limits>

namespace weir {

// Events end a decision early. Some always do: a request ends, one arrives at an empty queue, a batch or a KV
// transfer comes back, free blocks do not hold the next token of every slice.
struct WakesOn {
  bool any_arrival = false;        // though others wait already
  bool free_blocks = false;        // somebody waits for KV blocks, and for nothing else
  std::int32_t lacks_blocks = -1;  // the first request that does; -1: the first that waits
};

struct Validity {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  // The same decision would be taken for so many steps, this one included, decode by decode.
  std::int64_t steps = 1;
  WakesOn wakes_on = {};
};

}  // namespace weir
