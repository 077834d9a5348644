#include "models/latency/systolic.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace weir;

namespace {

// An array played element by element and cycle by cycle: each adds its product to the sum from above and
// hands its activation on to the right; activations enter a row of the array a cycle later than the row
// above. Weights of the next tile shift in meanwhile, and replace the old ones as the wave passes. Returns
// the cycles until the last sum has left.
std::int64_t play_array(const SystolicArrays& a, std::int64_t rows, std::int64_t tiles) {
  struct Value {
    std::int64_t row = -1, tile = -1, products = 0;  // row -1: a bubble
  };
  const auto height = static_cast<std::size_t>(a.rows), width = static_cast<std::size_t>(a.columns);
  std::vector<std::vector<Value>> now(height, std::vector<Value>(width)), next = now;
  std::vector<Value> entered;  // into the top left corner, each cycle
  std::int64_t loaded = 0, shifted = 0, tile = -1, row = rows, left = 0;
  while (left < rows * tiles * a.columns) {
    REQUIRE(entered.size() < 10'000);
    if (row == rows && loaded > tile + 1) {  // a new tile stands ready: the spare weights are free again
      ++tile;
      row = 0;
    }
    entered.push_back(row < rows && tile >= 0 ? Value{row++, tile, 0} : Value{});
    if (loaded <= tile + 1 && loaded < tiles && ++shifted == a.rows) {
      ++loaded;
      shifted = 0;
    }
    for (std::size_t r = 0; r < height; ++r)
      for (std::size_t c = 0; c < width; ++c) {
        Value value = c > 0 ? now[r][c - 1] : r < entered.size() ? entered[entered.size() - 1 - r] : Value{};
        if (value.row >= 0 && r > 0) {
          REQUIRE((now[r - 1][c].row == value.row && now[r - 1][c].tile == value.tile));
          value.products = now[r - 1][c].products;
        } else {
          value.products = 0;
        }
        if (value.row >= 0) ++value.products;
        next[r][c] = value;
      }
    for (const Value& out : next[height - 1])
      if (out.row >= 0) {
        REQUIRE(out.products == a.rows);
        ++left;
      }
    std::swap(now, next);
  }
  return static_cast<std::int64_t>(entered.size());
}

SystolicArrays one_array(std::int64_t rows, std::int64_t columns) {
  return {.arrays = 1,
          .rows = rows,
          .columns = columns,
          .bandwidth = BytesPerSecond(1e12),
          .scratchpad = Bytes(1e6)};
}

}  // namespace

TEST_CASE("systolic array: cycles are those of an array played element by element") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto size = [&](int most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
    const SystolicArrays a = one_array(size(6), size(6));
    const std::int64_t rows = size(12), down = size(3), across = size(3);
    INFO(a.rows << " x " << a.columns << ", " << rows << " rows, " << down << " x " << across << " tiles");
    CHECK(systolic_cycles(a, rows, down * a.rows, across * a.columns) == play_array(a, rows, down * across));
  }
}

TEST_CASE("systolic arrays: a matrix that fills no whole number of tiles takes whole ones, by hand") {
  SystolicArrays a = one_array(64, 64);
  a.arrays = 2;
  const GemmShape s{.rows = 5, .in = 130, .out = 70};
  // 3 x 2 tiles, 3 an array: 64 to load, 2 x 64 until the last may start, 5 rows, 64 + 64 - 2 on their way.
  CHECK(systolic_cycles(a, 5, 130, 70) == 64 + 2 * 64 + 5 + 64 + 64 - 2);
  CHECK(systolic_gemm_cost(a, s).compute.value() == Approx(323e-9));
  // Three of them: 18 tiles, 9 an array; one tile alone loads no more than itself before it begins.
  const KernelCost three = systolic_gemm_cost(a, s, 3);
  CHECK(three.compute.value() == Approx(707e-9));
  const auto began = [&](const KernelCost& cost) {
    return (cost.time - std::max(cost.compute, cost.traffic)).value() * 1e12;  // bytes of the first tiles
  };
  CHECK(began(three) == Approx(2 * 64 * 64 * s.weight_bytes));
  CHECK(began(systolic_gemm_cost(a, {.rows = 5, .in = 60, .out = 60})) == Approx(64 * 64 * s.weight_bytes));
}

TEST_CASE("systolic arrays: what does not fit half the scratchpad is read again, by hand") {
  SystolicArrays a = one_array(64, 64);
  a.arrays = 2;
  const auto read = [&](double room, const GemmShape& s) {
    a.scratchpad = Bytes(2 * room);
    return systolic_gemm_cost(a, s).moved[own_memory].value() - s.rows * s.out * 2;
  };
  CHECK(read(1000, {.rows = 5, .in = 100, .out = 300}) == 1000 + 60000);  // activations fit exactly
  // 1,200 B do not: they come again for each 2 x 64 of 300 columns.
  CHECK(read(1000, {.rows = 6, .in = 100, .out = 300}) == 3 * 1200 + 60000);
  // 3,200 B are two blocks: their 6,000 B of weights twice are less than the activations three times.
  CHECK(read(3000, {.rows = 160, .in = 10, .out = 300}) == 3200 + 2 * 6000);
}

TEST_CASE("systolic arrays: nothing beats their peak or the memory, and more of either is never slower") {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const auto size = [&](double low, double high) {
      return std::round(low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random)));
    };
    SystolicArrays a{.arrays = static_cast<std::int64_t>(size(1, 16)),
                     .rows = static_cast<std::int64_t>(size(8, 256)),
                     .columns = static_cast<std::int64_t>(size(8, 256)),
                     .clock_hz = size(1e8, 2e9),
                     .bandwidth = BytesPerSecond(size(1e10, 4e12)),
                     .memory_efficiency = 0.9,
                     .scratchpad = Bytes(size(1e5, 1e8))};
    const GemmShape s{.rows = size(1, 8192), .in = size(1, 16384), .out = size(1, 65536)};
    const auto count = static_cast<std::int64_t>(size(1, 64));
    const KernelCost cost = systolic_gemm_cost(a, s, count);
    const double elements = static_cast<double>(a.arrays * a.rows * a.columns);
    REQUIRE(cost.time.value() >= cost.flops.value() / (2 * elements * a.clock_hz));
    REQUIRE(cost.time >= cost.moved[own_memory] / (0.9 * a.bandwidth));
    const double least = s.in * s.out * 2 + s.rows * (s.in + s.out) * 2;
    REQUIRE(cost.moved[own_memory].value() >= static_cast<double>(count) * least * (1 - 1e-12));
    SystolicArrays faster = a, roomier = a;
    faster.bandwidth = 1.1 * a.bandwidth;
    roomier.scratchpad = 1.5 * a.scratchpad;
    REQUIRE(systolic_gemm_cost(faster, s, count).time <= cost.time);
    REQUIRE(systolic_gemm_cost(roomier, s, count).time <= cost.time);
    REQUIRE(systolic_gemm_cost(a, s, count + 1).time >= cost.time);
    GemmShape taller = s;
    taller.rows += 1;
    REQUIRE(systolic_gemm_cost(a, taller, count).time >= cost.time);
  }
}

TEST_CASE("systolic arrays: a GEMV pays for loading the array, rows up to its height are free") {
  const SystolicArrays a{
      .arrays = 8, .rows = 128, .columns = 128, .bandwidth = BytesPerSecond(1e15), .scratchpad = Bytes(1e9)};
  // 4096 x 3072: 768 tiles, 96 an array.
  CHECK(systolic_cycles(a, 1, 4096, 3072) == 128 + 95 * 128 + 1 + 254);
  CHECK(systolic_cycles(a, 128, 4096, 3072) == 128 + 96 * 128 + 254);
  CHECK(systolic_cycles(a, 256, 4096, 3072) == 128 + 96 * 256 + 254);
}
