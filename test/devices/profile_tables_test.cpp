// Curves and grids of measured times by hand, and attention that is looked up in them: unequal decodes, rows
// of drafts, several prompts at once.
#include "devices/profile/profile_tables.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "test/devices/profiled_gpu.h"

namespace weir::test::profile_tables {
namespace {

Curve curve_of(const std::vector<std::pair<double, double>>& points) {
  Curve curve;
  for (const auto& [x, y] : points) curve.add(x, y);
  curve.sort();
  return curve;
}

BatchShape unequal(std::int64_t decodes, std::int64_t mean, std::int64_t longest, std::int64_t rows = 1) {
  BatchShape batch = decode_batch(decodes, mean);
  batch.decode_context_max = longest;
  batch.decode_rows = rows;
  return batch;
}

// 10 us and n x kv / 64.
std::string decodes_table() {
  std::string table = attention_header;
  for (const int n : {1, 8, 16})
    for (const int kv : {1, 255, 4095})
      table += fmt::format("32,8,128,bf16,0,0,0,{},{},{}\n", n, kv, 10 + n * kv / 64.);
  return table;
}

// 30 us, 0.1 a token of the chunk, 0.05 a token before it, 0.02 n x kv.
std::string mixed_table() {
  std::string table = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
  for (const int n : {1, 4, 16})
    for (const int kv : {16, 256, 4096}) table += fmt::format("0,0,{},{},{}\n", n, kv, 20 + 0.01 * n * kv);
  for (const int chunk : {16, 512})
    for (const int context : {0, 1024}) {
      const double alone = 30 + 0.1 * chunk + 0.05 * context;
      table += fmt::format("{},{},0,0,{}\n", chunk, context, alone);
      for (const int n : {1, 4, 16})
        for (const int kv : {16, 256, 4096})
          table += fmt::format("{},{},{},{},{}\n", chunk, context, n, kv, alone + 0.02 * n * kv);
    }
  return table;
}

}  // namespace

TEST_CASE("measured tables by hand: neighbours of a point, at a knot, between two and beyond the last") {
  const auto check = [](const Bracket& b, std::size_t low, std::size_t high, double share) {
    CHECK((b.low == low && b.high == high));
    CHECK(b.share == Approx(share));
  };
  const std::vector<double> knots = {2, 4, 10};
  check(bracket(knots, 1), 0, 0, 0);
  check(bracket(knots, 2), 0, 0, 0);
  check(bracket(knots, 3), 0, 1, 0.5);
  check(bracket(knots, 4), 0, 1, 1);
  check(bracket(knots, 7), 1, 2, 0.5);
  check(bracket(knots, 13), 1, 2, 1.5);
  check(bracket({5}, 9), 0, 0, 0);
}

TEST_CASE("measured tables by hand: a curve's values, its slopes to the right and its next knots") {
  const Curve curve = curve_of({{7, 24}, {1, 10}, {3, 20}});
  const auto check = [&](double at, double value, double slope, double next) {
    INFO(at);
    CHECK(curve.at(at).value == Approx(value));
    CHECK(curve.at(at).slope == Approx(slope));
    CHECK(curve.at(at).next == next);
  };
  check(0.5, 10, 0, 1);
  check(1, 10, 5, 3);
  check(2, 15, 5, 3);
  check(3, 20, 1, 7);
  check(9, 26, 1, INFINITY);
  const Curve one = curve_of({{4, 6}});
  CHECK((one.at(1).value == 6 && one.at(9).value == 6 && one.at(9).slope == 0));
}

TEST_CASE("measured tables by hand: a grid in logarithms, with a hole, below its first and beyond its last") {
  LogGrid grid;
  const auto add = [&](double a, double b, double value) {
    grid.add(a, b, 10, value);
    grid.add(a, b, 1000, value + 4);
  };
  add(1, 1, 1);
  add(1, 16, 3);
  add(4, 1, 8);
  CHECK(grid.sort());
  CHECK(grid.at(1, 1, 10) == Approx(1));
  CHECK(grid.at(1, 1, 100) == Approx(3));
  CHECK(grid.at(1, 1, 5) == 0);
  CHECK(grid.at(1, 1, 1e6) == Approx(5));
  CHECK(grid.at(2, 1, 10) == Approx(4.5));
  CHECK(grid.at(1, 2, 10) == Approx(1.5));
  CHECK(grid.at(2, 4, 10) == Approx(4));   // a mean of three corners
  CHECK(grid.at(4, 16, 10) == Approx(3));  // no corner: the nearest is a factor of 4 away
  CHECK(grid.at(0.1, 1, 10) == Approx(1));
  CHECK(grid.at(64, 1, 10) == Approx(8));
  CHECK(grid.at(1, 200, 10) == Approx(3));
  grid.add(1, 1, 10, 7);
  CHECK_FALSE(grid.sort());
}

TEST_CASE(
    "measured tables by hand: prompts, what is before them, decodes and their lengths, each on its axis") {
  MixedTimes times;
  for (const double chunk : {16., 48.})
    for (const double context : {0., 100.})
      for (const double decodes : {1., 5.})
        for (const double kv : {10., 30.})
          times[chunk][context][decodes].add(kv, chunk + 2 * context + 300 * decodes + 7 * kv);
  const TimePair pair = interpolate(times, 24, 25, 2, 15, 25);
  CHECK(pair.mean == Approx(24 + 50 + 600 + 105));
  CHECK(pair.longest == Approx(24 + 50 + 600 + 175));
}

TEST_CASE("profiled decodes by hand: a fortieth of the way from their mean to their longest") {
  const ProfiledGpu gpu({{"profile.json", about}, {"attention.csv", decodes_table()}});
  CHECK(gpu.us(attention, unequal(8, 257, 1025)) == Approx(10 + 8 * (256 + 0.025 * 768) / 64));
  const AffineKernelCost line = decode_attention(*gpu.device, attention, unequal(8, 257, 1025));
  CHECK(1e6 * line.slope.time.value() == Approx(8 / 64.));
  CHECK(line.steps == 4095 - 1024);
  // Rows of drafts take as much longer as on the analytic device, and so do more decodes than were measured.
  CHECK(gpu.us(attention, unequal(8, 257, 257, 3)) ==
        Approx(42 * gpu.analytic_us(attention, unequal(8, 257, 257, 3)) /
               gpu.analytic_us(attention, unequal(8, 257, 257))));
  CHECK(gpu.us(attention, unequal(20, 257, 257)) ==
        Approx(74 * gpu.analytic_us(attention, unequal(20, 257, 257)) /
               gpu.analytic_us(attention, unequal(16, 257, 257))));
}

// Beside a prompt 2.6 of so many decodes is the share of the way, 1 at most.
TEST_CASE("profiled prompts by hand: decodes beside them, and two as one of their tokens and keys") {
  const ProfiledGpu gpu({{"profile.json", about}, {"attention.csv", mixed_table()}});
  const std::vector<PrefillChunk> one = {{512, 0}}, two = {{100, 300}, {200, 60}};
  const auto beside = [&](std::int64_t decodes) {
    return gpu.us(attention, prompts(one, unequal(decodes, 500, 3000)));
  };
  CHECK(beside(2) == Approx(81.2 + 0.02 * 2 * 2999));
  CHECK(beside(4) == Approx(81.2 + 0.02 * 4 * (499 + 0.65 * 2500)));
  CHECK(beside(16) == Approx(81.2 + 0.02 * 16 * (499 + 0.1625 * 2500)));
  // 100 see 350 each on average and 200 see 160: 300 tokens with 223.3 each, 73.3 of them before.
  CHECK(gpu.us(attention, prompts(two)) == Approx(30 + 30 + 0.05 * (670 / 3. - 150)));
}

}  // namespace weir::test::profile_tables
