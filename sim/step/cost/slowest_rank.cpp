#include "sim/step/cost/slowest_rank.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// The times are one rank's.
KernelCost with_mean_work(KernelCost slowest, std::span<const KernelCost> ranks) {
  slowest.flops = Flops(0);
  slowest.moved = {};
  slowest.energy = slowest.clocked = Joules(0);
  const double share = 1. / static_cast<double>(ranks.size());
  for (const KernelCost& rank : ranks) {
    slowest.flops += share * rank.flops;
    slowest.energy += share * rank.energy;
    slowest.clocked += share * rank.clocked;
    for (std::size_t r = 0; r < slowest.moved.size(); ++r) slowest.moved[r] += share * rank.moved[r];
  }
  return slowest;
}

// The step at which `other` is slower for the first time; it is not in the first.
double overtaken_at(const AffineKernelCost& slowest, const AffineKernelCost& other) {
  const Seconds gains = other.slope.time - slowest.slope.time;
  if (gains <= Seconds(0)) return std::numeric_limits<double>::infinity();
  return std::floor((slowest.first.time - other.first.time) / gains) + 1;
}

}  // namespace

KernelCost slowest_of(std::span<const KernelCost> ranks) {
  return with_mean_work(*std::ranges::max_element(ranks, {}, &KernelCost::time), ranks);
}

AffineKernelCost slowest_of(std::span<const AffineKernelCost> ranks) {
  const AffineKernelCost& slowest = *std::ranges::max_element(
      ranks, {}, [](const AffineKernelCost& rank) { return std::pair(rank.first.time, rank.slope.time); });
  std::vector<KernelCost> firsts, slopes;
  double steps = std::numeric_limits<double>::max();
  for (const AffineKernelCost& rank : ranks) {
    firsts.push_back(rank.first);
    slopes.push_back(rank.slope);
    if (rank.first.time > Seconds(0)) steps = std::min(steps, static_cast<double>(rank.steps));
    steps = std::min(steps, overtaken_at(slowest, rank));
  }
  return {with_mean_work(slowest.first, firsts), with_mean_work(slowest.slope, slopes),
          std::max<std::int64_t>(1, static_cast<std::int64_t>(steps))};
}

}  // namespace weir
