// Dispatch and combine over three nodes, and loads of experts, worked out by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "models/latency/expert_exchange.h"
#include "models/latency/expert_load.h"

namespace weir::test::exchange_by_hand {

namespace {

ExchangeKernel dispatching() {
  return {.start = Seconds(10e-6),
          .start_between = Seconds(6e-6),
          .inside_share = 0.5,
          .between_share = 0.25,
          .per_sm = BytesPerSecond(3e9),
          .per_sm_between = BytesPerSecond(2e9)};
}

ExchangeKernel combining() {
  ExchangeKernel kernel = dispatching();
  kernel.start = Seconds(20e-6);
  kernel.start_between = Seconds(12e-6);
  return kernel;
}

// 12 ranks on 3 nodes; links of so many GB/s inside and between.
ExpertExchange over(ExchangeMethod method, double inside, double between, int multiprocessors = 20,
                    int ranks = 12) {
  const ExchangeKernels kernels{dispatching(), combining()};
  ExchangeGroup group{ranks, 4, {}, {}};
  group.inside.bandwidth = BytesPerSecond(1e9 * inside);
  group.inside.exchange = std::make_shared<const ExchangeLibrary>(ExchangeLibrary{kernels, kernels, kernels});
  group.between.bandwidth = BytesPerSecond(1e9 * between);
  return ExpertExchange(method, group, "nccl", multiprocessors);
}

// 10 tokens of 1,000 B to 3 of 24 experts, back as 3,000 B; the fullest rank has half as much again.
ExchangeStep three_of_24() {
  return {10, 24, 3, Bytes(1000), Bytes(3000), 1.5};
}

double us(const ExchangeCost& cost) {
  return 1e6 * cost.time.value();
}

}  // namespace

// 30 copies: 3 of 12 go to others of the node, 8 of 12 to other nodes. Two thirds of the ranks are there.
TEST_CASE("exchange by hand: low latency over three nodes, bound by the node's links and by the NICs") {
  const ExpertExchange slow_inside = over(ExchangeMethod::low_latency, 1, 100);
  const ExchangeStep step = three_of_24();
  CHECK(us(slow_inside.dispatch(step)) == Approx(10 + 4 + 7.5 * 1.5 / 0.5));
  CHECK(us(slow_inside.combine(step)) == Approx(20 + 8 + 3 * 7.5 * 1.5 / 0.5));
  CHECK(us(over(ExchangeMethod::low_latency, 100, 1).dispatch(step)) == Approx(10 + 4 + 20 * 1.5 / 0.25));
  const ExchangeCost cost = slow_inside.dispatch(step);
  CHECK(cost.inside.value() == Approx(7500));
  CHECK(cost.between.value() == Approx(20000));
  CHECK(cost.multiprocessors == 0);
  // In one node nothing goes between, and no start is longer: 30 copies, 3/4 of them to others.
  CHECK(us(over(ExchangeMethod::low_latency, 1, 1, 20, 4).dispatch(step)) == Approx(10 + 22.5 * 1.5 / 0.5));
}

// Over 12 ranks of 2 experts a token reaches 12 x (1 - 22/24 x 21/23 x 20/22) = 66/23, of 3 nodes of 8
// 3 x (1 - 16/24 x 15/23 x 14/22) = 549/253.
TEST_CASE("exchange by hand: normal kernels hand a token on, and their SMs handle all of it") {
  const double ranks = 66. / 23, nodes = 549. / 253;
  const ExchangeStep step = three_of_24();
  const ExchangeCost cost = over(ExchangeMethod::normal, 1, 1000, 2000).dispatch(step);
  CHECK(cost.inside.value() == Approx(10000 * ranks * 3 / 4));
  CHECK(cost.between.value() == Approx(10000 * nodes * 2 / 3));
  CHECK(cost.multiprocessors == 2000);
  CHECK(us(cost) == Approx(14 + 15 * ranks * 3 / 4 / 0.5));
  CHECK(us(over(ExchangeMethod::normal, 1000, 1, 2000).dispatch(step)) ==
        Approx(14 + 15 * nodes * 2 / 3 / 0.25));
  // 4 SMs handle 2 GB/s each across nodes, 3 in one.
  CHECK(us(over(ExchangeMethod::normal, 1000, 1000, 4).dispatch(step)) ==
        Approx(14 + 15 * (ranks + nodes * 2 / 3) / 8));
  // Four ranks of 6 in one node: 4 x (1 - 18/24 x 17/23 x 16/22).
  CHECK(us(over(ExchangeMethod::normal, 1000, 1000, 4, 4).dispatch(step)) ==
        Approx(10 + 15 * 4 * (1 - 18. * 17 * 16 / (24. * 23 * 22)) / 12));
}

// 9 ranks of 4 a node are on three nodes, as 12 are.
TEST_CASE("exchange by hand: a node that is not full is one") {
  const ExchangeCost cost = over(ExchangeMethod::low_latency, 100, 1, 20, 9).dispatch(three_of_24());
  CHECK(cost.between.value() == Approx(20000));
  CHECK(us(cost) == Approx(10 + 4 + 20 * 1.5 / 0.25));
}

TEST_CASE("loads by hand: redundant copies share an expert's tokens") {
  const auto even = [](int experts, int active, int ranks, int redundant, double tokens) {
    return ExpertLoads({experts, active, ranks, redundant, ExpertDistribution::uniform, 1.2, 1})
        .fullest(tokens);
  };
  // 2 of 6, two tokens: an expert alone is hit 1 - (2/3)^2 = 20/36 of the time, one of a pair 11/36.
  CHECK(even(6, 2, 3, 3, 2).hit == Approx((3 * 20 / 36. + 6 * 11 / 36.) / 3));
  CHECK(even(6, 2, 3, 3, 2).copies == Approx(4. / 3));
  // 1 of 2 and six copies more: four of each, hit by an eighth of three tokens' choices.
  CHECK(even(2, 1, 4, 6, 3).hit == Approx(8 * (1 - std::pow(7 / 8., 3)) / 4));
  CHECK(ExpertLoads({7, 1, 3, 1, ExpertDistribution::uniform, 1.2, 1}).slots_per_rank() == 3);
  CHECK(ExpertLoads({7, 1, 3, 2, ExpertDistribution::uniform, 1.2, 1}).slots_per_rank() == 3);
  CHECK(ExpertLoads({7, 1, 3, 3, ExpertDistribution::uniform, 1.2, 1}).slots_per_rank() == 4);
}

TEST_CASE("loads by hand: between powers of two on a line, below one and beyond the last in proportion") {
  const ExpertLoads& loads = expert_loads({64, 4, 8, 0, ExpertDistribution::power_law, 1.2, 5});
  const auto copies = [&](double tokens) { return loads.fullest(tokens).copies; };
  const auto hit = [&](double tokens) { return loads.fullest(tokens).hit; };
  CHECK(copies(5) == Approx(0.75 * copies(4) + 0.25 * copies(8)));
  CHECK(hit(7) == Approx(0.25 * hit(4) + 0.75 * hit(8)));
  CHECK(copies(0.25) == Approx(0.25 * copies(1)));
  CHECK(hit(0.25) == Approx(0.25 * hit(1)));
  CHECK(copies(3 * 1048576) == Approx(3 * copies(1048576)));
  CHECK(hit(3 * 1048576) == hit(1048576));
  CHECK(loads.fullest(3 * 1048576).imbalance == Approx(loads.fullest(1048576).imbalance));
  CHECK(loads.fullest(6).imbalance == Approx(copies(6) * 8 / (6 * 4)));
}

TEST_CASE("placement by hand: the heaviest first to the emptiest rank that has a slot, of equals the first") {
  using Ranks = std::vector<std::vector<int>>;
  // 8 | 5, then 4 beside 5, 2 beside 8, and the slot more is the emptier rank's.
  CHECK(place_greedily({8, 5, 4, 2, 1}, 2, 0).ranks == Ranks{{0, 3}, {1, 2, 4}});
  // Two slots a rank: the last goes to the fuller one, which has a slot left.
  CHECK(place_greedily({20, 4, 3, 1}, 2, 0).ranks == Ranks{{0, 3}, {1, 2}});
  CHECK(place_greedily({1, 1, 1, 1}, 2, 0).ranks == Ranks{{0, 2}, {1, 3}});
  // The first of equals has the copy; its halves go last.
  const ExpertPlacement copied = place_greedily({1, 1, 1, 1}, 2, 1);
  CHECK(copied.copies == std::vector<int>{2, 1, 1, 1});
  CHECK(copied.ranks == Ranks{{1, 3}, {2, 0, 0}});
  CHECK(place_in_order(8, 3).ranks == Ranks{{0, 1, 2}, {3, 4, 5}, {6, 7}});
}

}  // namespace weir::test::exchange_by_hand
