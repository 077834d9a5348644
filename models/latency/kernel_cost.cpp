#include "models/latency/kernel_cost.h"

#include <algorithm>

namespace weir {

KernelCost reading_from_cache(KernelCost cost, Bytes hits, BytesPerSecond cache) {
  if (!(hits > Bytes(0))) return cost;
  const Seconds rest = cost.time - std::max(cost.compute, cost.traffic);
  cost.traffic = cost.traffic * ((cost.memory - hits) / cost.memory) + hits / cache;
  cost.time = rest + std::max(cost.compute, cost.traffic);
  cost.memory = cost.memory - hits;
  return cost;
}

}  // namespace weir
