#include "models/latency/matrix.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace weir;

namespace {

using Random = std::mt19937;

double between(Random& random, double low, double high) {  // log-uniform
  return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
}

GemmEfficiency random_efficiency(Random& random) {
  return {.compute = between(random, 0.3, 1),
          .memory = between(random, 0.5, 1),
          .knee = between(random, 1, 10),
          .tail_tiles = between(random, 1e-3, 0.5),
          .launch = Seconds(between(random, 1e-6, 1e-5))};
}

Roof random_roof(Random& random) {
  return {FlopsPerSecond(between(random, 1e13, 2e15)), BytesPerSecond(between(random, 3e11, 8e12)),
          std::round(between(random, 20, 200))};
}

GemmShape random_shape(Random& random) {
  const auto size = [&](double low, double high) { return std::round(between(random, low, high)); };
  return {.rows = size(1, 8192), .in = size(64, 16384), .out = size(64, 131072), .weight_bytes = 1};
}

// Average number of distinct experts over every way `tokens` tokens can choose `active` of `total`.
double enumerated_active(int total, int active, int tokens) {
  std::vector<unsigned> choices;
  for (unsigned mask = 0; mask < (1u << total); ++mask)
    if (__builtin_popcount(mask) == active) choices.push_back(mask);
  std::vector<std::size_t> picked(static_cast<std::size_t>(tokens), 0);
  double sum = 0, ways = 0;
  while (true) {
    unsigned all = 0;
    for (const std::size_t p : picked) all |= choices[p];
    sum += __builtin_popcount(all);
    ++ways;
    std::size_t digit = 0;
    while (digit < picked.size() && ++picked[digit] == choices.size()) picked[digit++] = 0;
    if (digit == picked.size()) return sum / ways;
  }
}

}  // namespace

TEST_CASE(
    "gemm: nothing beats its roofline, and more rows, less bandwidth or a lower peak are never faster") {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const GemmEfficiency e = random_efficiency(random);
    const Roof roof = random_roof(random);
    const GemmShape s = random_shape(random);
    const KernelCost cost = gemm_cost(e, roof, s);
    REQUIRE(cost.time >= cost.flops / roof.peak);
    REQUIRE(cost.time >= cost.moved[own_memory] / roof.bandwidth);
    REQUIRE(cost.time >= std::max(cost.compute, cost.traffic));
    REQUIRE(cost.flops.value() == 2 * s.rows * s.in * s.out);
    GemmShape more = s;
    more.rows += 1;
    Roof slower = roof, weaker = roof;
    slower.bandwidth = 0.9 * roof.bandwidth;
    weaker.peak = 0.9 * roof.peak;
    REQUIRE(gemm_cost(e, roof, more).time >= cost.time);
    REQUIRE(gemm_cost(e, slower, s).time >= cost.time);
    REQUIRE(gemm_cost(e, weaker, s).time >= cost.time);
  }
}

TEST_CASE("gemm: a memory-bound one takes bytes over bandwidth, a compute-bound one flops over peak") {
  const GemmEfficiency sharp{.compute = 1, .memory = 1, .knee = 100, .tail_tiles = 0, .launch = Seconds(0)};
  const Roof roof{FlopsPerSecond(1e15), BytesPerSecond(1e12), 100};
  const GemmShape one_row{.rows = 1, .in = 4096, .out = 4096};
  CHECK(gemm_cost(sharp, roof, one_row).time.value() == Approx((4096. * 4096 * 2 + 2 * 4096 * 2) / 1e12));
  const GemmShape many_rows{.rows = 16384, .in = 4096, .out = 4096};
  CHECK(gemm_cost(sharp, roof, many_rows).time.value() == Approx(2. * 16384 * 4096 * 4096 / 1e15));
  GemmEfficiency additive = sharp;
  additive.knee = 1;
  const KernelCost sum = gemm_cost(additive, roof, many_rows);
  CHECK(sum.time.value() == Approx((sum.compute + sum.traffic).value()));
}

TEST_CASE("experts: the expected number that work is the average over every routing") {
  for (const auto& [total, active, tokens] :
       std::vector<std::array<int, 3>>{{4, 1, 1}, {4, 1, 3}, {4, 2, 2}, {5, 2, 3}, {6, 3, 2}})
    CHECK(expected_active_experts({total, active, total}, tokens) ==
          Approx(enumerated_active(total, active, tokens)));
  CHECK(expected_active_experts({32, 8, 128}, 1) == Approx(2));     // a quarter of the 8
  CHECK(expected_active_experts({32, 8, 128}, 1e6) == Approx(32));  // all of them
}

TEST_CASE("experts: all on one rank take the time of their rows and of the weights that are read") {
  const GemmEfficiency sharp{.compute = 1, .memory = 1, .knee = 100, .tail_tiles = 0, .launch = Seconds(0)};
  const Roof roof{FlopsPerSecond(1e15), BytesPerSecond(1e12), 100};
  const GemmShape shape{.rows = 1, .in = 1024, .out = 2048};
  const KernelCost cost = grouped_gemm_cost(sharp, roof, shape, even_load({8, 2, 8}, 1));
  CHECK(cost.moved[own_memory].value() == Approx(2 * 1024. * 2048 * 2 + 2 * (1024 + 2048) * 2));
  CHECK(cost.flops.value() == Approx(2. * 2 * 1024 * 2048));
  CHECK(cost.time.value() == Approx(cost.moved[own_memory].value() / 1e12));
}

TEST_CASE("elementwise: what fits the cache moves at its speed, the rest at the memory's") {
  const ElementwiseEfficiency e{
      .memory = 0.5, .cache_bandwidth = BytesPerSecond(4e12), .cache = Bytes(1e6), .launch = Seconds(2e-6)};
  const BytesPerSecond bandwidth(1e12);
  CHECK(elementwise_cost(e, bandwidth, Bytes(1e6)).time.value() == Approx(2e-6 + 1e6 / 4e12));
  CHECK(elementwise_cost(e, bandwidth, Bytes(1e6)).moved[own_memory] == Bytes(0));
  const KernelCost big = elementwise_cost(e, bandwidth, Bytes(5e6));
  CHECK(big.time.value() == Approx(2e-6 + 1e6 / 4e12 + 4e6 / 0.5e12));
  CHECK(big.moved[own_memory] == Bytes(4e6));
}

TEST_CASE("gemm: a step of the rows multiplies all but the launch and the quantising") {
  GemmEfficiency e{.compute = 0.5, .memory = 0.5, .knee = 2, .launch = Seconds(3e-6)};
  const Roof roof{FlopsPerSecond(1e15), BytesPerSecond(4e12), 132};
  const GemmShape below{.rows = 16, .in = 4096, .out = 4096}, at{.rows = 32, .in = 4096, .out = 4096},
      above{.rows = 33, .in = 4096, .out = 4096};
  const auto work = [&](const GemmShape& s) { return gemm_cost(e, roof, s).time.value() - 3e-6; };
  const double plain_at = work(at), plain_above = work(above), plain_below = work(below);
  e.steps = {{16, 1}, {32, 1.25}};
  CHECK(work(below) == Approx(plain_below));
  CHECK(work(at) == Approx(1.25 * plain_at));
  CHECK(work(above) == Approx(plain_above));
  e.quantising_bytes = 3;  // read as 16 bits, written as 8
  CHECK(work(at) == Approx(1.25 * plain_at + 3. * 32 * 4096 / 4e12));
  CHECK(gemm_cost(e, roof, at).moved[own_memory].value() ==
        Approx(2. * 4096 * 4096 + 32 * 2 * (4096 + 4096) + 3 * 32 * 4096));
}
