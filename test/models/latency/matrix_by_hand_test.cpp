// GEMMs worked out by hand: several matrices, experts, what is padded, quantised and chosen by rows.
#include <catch2/catch.hpp>

#include "models/latency/matrix.h"

namespace weir::test::matrix_by_hand {

namespace {

// A knee of 1 adds both up, so that each shows.
GemmEfficiency adding_up() {
  return {.compute = 0.5,
          .memory = 0.25,
          .knee = 1,
          .tail_tiles = 0.5,
          .launch = Seconds(1e-6),
          .quantising_bytes = 3,
          .steps = {{10, 2}, {20, 1.5}},
          .empty_rows_per_expert = 6};
}

const Roof ten{FlopsPerSecond(1e12), BytesPerSecond(1e9), 10};

// Half a tile of 128 x 128 on each of 10 SMs, over 64 inputs.
constexpr double tail = 2. * 64 * 0.5 * 128 * 128 * 10;

}  // namespace

TEST_CASE("gemm by hand: matrices beside each other, each with its rows, and one tail") {
  const GemmShape shape{.rows = 7,
                        .in = 64,
                        .out = 32,
                        .weight_bytes = 0.5,
                        .activation_bytes = 1,
                        .output_bytes = 2,
                        .matrices = 3};
  const KernelCost cost = gemm_cost(adding_up(), ten, shape);
  const double flops = 3 * 2. * 7 * 64 * 32, bytes = 3 * (64 * 32 * 0.5 + 7 * (64 * 1 + 32 * 2)),
               quantised = 3 * 7 * 64 * 3;
  CHECK(cost.flops.value() == flops);
  CHECK(cost.moved[own_memory].value() == bytes + quantised);
  CHECK(cost.compute.value() == Approx(2 * (flops + tail) / 0.5e12));  // up to 10 rows twice as long
  CHECK(cost.traffic.value() == Approx(2 * bytes / 0.25e9));
  CHECK(cost.time.value() == Approx((cost.compute + cost.traffic).value() + 1e-6 + quantised / 1e9));
  CHECK(cost.knee == 1);
  const KernelCost other = implicit_gemm_cost(adding_up(), ten, shape, Bytes(5000));
  CHECK(other.traffic.value() == Approx(2 * 5000 / 0.25e9));
  CHECK(other.moved[own_memory].value() == 5000 + quantised);
}

// The fullest of the ranks has 30 rows on 4 experts. The layer's 15 tokens choose the kernel.
TEST_CASE("experts by hand: rows and hits are the rank's, blocks are padded, tokens choose the step") {
  const GemmShape shape{.rows = 15, .in = 64, .out = 32, .weight_bytes = 0.5, .activation_bytes = 1};
  const KernelCost cost = grouped_gemm_cost(adding_up(), ten, shape, {30, 4, 1.25});
  const double flops = 2. * 64 * 32 * 30, bytes = 4 * 64 * 32 * 0.5 + 30 * (64 * 1 + 32 * 2),
               quantised = 30 * 64 * 3;
  CHECK(cost.flops.value() == flops);
  CHECK(cost.moved[own_memory].value() == bytes + quantised);
  CHECK(cost.compute.value() == Approx(1.5 * (2. * 64 * 32 * (30 + 4 * 6) + tail) / 0.5e12));
  CHECK(cost.traffic.value() == Approx(1.5 * bytes / 0.25e9));
  CHECK(cost.time.value() == Approx((cost.compute + cost.traffic).value() + 1e-6 + quantised / 1e9));
}

TEST_CASE("experts by hand: an even router gives a rank its share of the copies") {
  // 3 of 12 experts here, 2 a token, 5 tokens: 10 copies, a quarter here; an expert is missed by (5/6)^5.
  const RankLoad load = even_load({3, 2, 12}, 5);
  CHECK(load.copies == Approx(2.5));
  CHECK(load.hit == Approx(3 * (1 - 3125. / 7776)));
  CHECK(load.imbalance == 1);
}

TEST_CASE("kernel costs by hand: the longer of both, rounded by the knee, and nothing where one is nothing") {
  CHECK(smooth_maximum(3, 4, 2) == Approx(5));
  CHECK(smooth_maximum(4, 3, 2) == Approx(5));
  CHECK(smooth_maximum(3, 4, 1) == Approx(7));
  CHECK(smooth_maximum(0, 4, 1) == 4);
}

// 10 us of arithmetic and 20 of traffic, a knee of 1, and 5 us beside.
TEST_CASE("kernel costs by hand: hits in a cache and shares of the multiprocessors leave the rest") {
  KernelCost cost;
  cost.compute = Seconds(10e-6);
  cost.traffic = Seconds(20e-6);
  cost.time = Seconds(35e-6);
  cost.knee = 1;
  cost.moved[own_memory] = Bytes(1000);
  cost.moved[interconnect] = Bytes(70);
  const KernelCost hit = reading_from_cache(cost, Bytes(250), BytesPerSecond(50e6));
  CHECK(hit.traffic.value() == Approx(15e-6 + 5e-6));
  CHECK(hit.time.value() == Approx(35e-6));
  CHECK(hit.moved[own_memory] == Bytes(750));
  CHECK(hit.moved[interconnect] == Bytes(70));
  CHECK(reading_from_cache(cost, Bytes(1000), BytesPerSecond(250e6)).time.value() ==
        Approx(5e-6 + 10e-6 + 4e-6));
  const KernelCost half = on_share(cost, 0.5);
  CHECK(half.compute.value() == Approx(20e-6));
  CHECK(half.time.value() == Approx(45e-6));
  CHECK(half.traffic == cost.traffic);

  cost.flops = Flops(3);
  cost.energy = Joules(5);
  cost.clocked = Joules(2);
  KernelCost sum;
  sum += cost;
  CHECK(sum.knee == 1);  // the first that is one has it
  KernelCost next = cost;
  next.knee = 4;
  next.time = Seconds(2e-6);
  next.moved[own_memory] = Bytes(1);
  sum += next;
  CHECK(sum.time.value() == Approx(37e-6));
  CHECK(sum.flops == Flops(6));
  CHECK((sum.energy == Joules(10) && sum.clocked == Joules(4)));
  CHECK((sum.moved[own_memory] == Bytes(1001) && sum.moved[interconnect] == Bytes(140)));
  CHECK((sum.compute.value() == Approx(20e-6) && sum.traffic.value() == Approx(40e-6) && sum.knee == 1));
}

}  // namespace weir::test::matrix_by_hand
