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

TEST_CASE("slowest rank: joules and the bytes of every resource are the mean, in the slopes too") {
  const auto of = [](double time, double work) {
    KernelCost cost;
    cost.time = cost.traffic = Seconds(time);
    cost.compute = Seconds(time / 2);
    cost.flops = Flops(work);
    cost.energy = Joules(10 * work);
    cost.clocked = Joules(3 * work);
    for (std::size_t r = 0; r < cost.moved.size(); ++r)
      cost.moved[r] = Bytes(work * (1 + static_cast<double>(r)));
    return cost;
  };
  const auto check = [](const KernelCost& cost, double time, double work) {
    CHECK(cost.time.value() == Approx(time));
    CHECK(cost.traffic.value() == Approx(time));
    CHECK(cost.compute.value() == Approx(time / 2));
    CHECK(cost.flops.value() == Approx(work));
    CHECK(cost.energy.value() == Approx(10 * work));
    CHECK(cost.clocked.value() == Approx(3 * work));
    for (std::size_t r = 0; r < cost.moved.size(); ++r)
      CHECK(cost.moved[r].value() == Approx(work * (1 + static_cast<double>(r))));
  };
  // Work of 3, 5 and 10 on three ranks is 6 on each; that of the slopes, 6, 9 and 0, is 5.
  const std::vector<AffineKernelCost> ranks = {
      {of(7, 3), of(2, 6), 40}, {of(8, 5), of(1, 9), 50}, {of(4, 10), of(1, 0), 60}};
  check(slowest_of(std::vector<KernelCost>{ranks[0].first, ranks[1].first, ranks[2].first}), 8, 6);
  const AffineKernelCost run = slowest_of(ranks);
  check(run.first, 8, 6);
  check(run.slope, 1, 5);
  // The first rank gains 1 s a step: at step 1 both take 9 s, at step 2 it is the slower one.
  CHECK(run.steps == 2);
}

TEST_CASE("slowest rank: of two that take as long, the run is that of the one that grows faster") {
  const std::vector<AffineKernelCost> ranks = {line(5, 1, 90), line(5, 3, 70), line(5, 2, 80)};
  const AffineKernelCost run = slowest_of(ranks);
  CHECK(run.slope.time == Seconds(3));
  CHECK(run.steps == 70);
}
