#include "models/machine/kernel_cost.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

Seconds overlapped(const KernelCost& cost) {
  return Seconds(smooth_maximum(cost.compute.value(), cost.traffic.value(), cost.knee));
}

}  // namespace

KernelCost& operator+=(KernelCost& sum, const KernelCost& next) {
  if (sum.time <= Seconds(0)) return sum = next;
  sum.time += next.time;
  sum.flops += next.flops;
  for (std::size_t r = 0; r < sum.moved.size(); ++r) sum.moved[r] += next.moved[r];
  sum.compute += next.compute;
  sum.traffic += next.traffic;
  sum.energy += next.energy;
  sum.clocked += next.clocked;
  return sum;
}

double smooth_maximum(double a, double b, double knee) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (low <= 0) return high;
  return high * std::pow(1 + std::pow(low / high, knee), 1 / knee);
}

KernelCost reading_from_cache(KernelCost cost, Bytes hits, BytesPerSecond cache) {
  if (!(hits > Bytes(0))) return cost;
  const Seconds rest = cost.time - overlapped(cost);
  cost.traffic = cost.traffic * ((cost.moved[own_memory] - hits) / cost.moved[own_memory]) + hits / cache;
  cost.time = rest + overlapped(cost);
  cost.moved[own_memory] = cost.moved[own_memory] - hits;
  return cost;
}

KernelCost on_share(KernelCost cost, double multiprocessors) {
  const Seconds before = overlapped(cost);
  cost.compute = (1 / multiprocessors) * cost.compute;
  cost.time += overlapped(cost) - before;
  return cost;
}

}  // namespace weir
