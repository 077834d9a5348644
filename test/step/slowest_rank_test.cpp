#include "sim/step/cost/slowest_rank.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace weir;

namespace {

AffineKernelCost line(double first, double slope, std::int64_t steps) {
  AffineKernelCost cost;
  cost.first.time = Seconds(first);
  cost.first.flops = Flops(first);
  cost.slope.time = Seconds(slope);
  cost.steps = steps;
  return cost;
}

}  // namespace

TEST_CASE("slowest rank: the time is the longest, the work the mean") {
  const std::vector<KernelCost> ranks = {line(1, 0, 1).first, line(3, 0, 1).first, line(2, 0, 1).first};
  const KernelCost slowest = slowest_of(ranks);
  CHECK(slowest.time == Seconds(3));
  CHECK(slowest.flops.value() == Approx(2));
}

TEST_CASE("slowest rank: a run ends before another rank becomes the slowest") {
  for (const double slope : {0.1, 0.3, 1., 7.}) {
    const std::vector<AffineKernelCost> ranks = {line(10, 0.05, 1000), line(4, slope, 1000)};
    const AffineKernelCost run = slowest_of(ranks);
    CHECK(run.first.time == Seconds(10));
    const auto at = [&](std::size_t rank, std::int64_t step) {
      return ranks[rank].first.time + static_cast<double>(step) * ranks[rank].slope.time;
    };
    CHECK(at(1, run.steps - 1) <= at(0, run.steps - 1));
    if (run.steps < 1000) CHECK(at(1, run.steps) > at(0, run.steps));
  }
}

TEST_CASE("slowest rank: a run is a line on every rank that does something") {
  const std::vector<AffineKernelCost> ranks = {line(10, 1, 50), line(4, 1, 20), line(0, 0, 1)};
  CHECK(slowest_of(ranks).steps == 20);
}
