// The stack's processors with unequal work, by hand, and a grid of banks that is not its own.
#include <catch2/catch.hpp>

#include "devices/hetero_pim/pair_banks.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/tensor_operations.h"

namespace weir::test::hetero_by_hand {

// Weights 4 x 16 + 4 x 14 + 13 = 133: 100 pairs are 12 in corners, 10 at edges, 9 in the middle, and 3 more.
TEST_CASE("hetero pim by hand: what rounding leaves goes to the first corners, then edges, then the middle") {
  CHECK(pairs_by_bank(100, {3, 3}) == std::vector<int>{13, 10, 13, 10, 9, 10, 13, 10, 12});
  // 96: 11, 10 and 9 leave three; 98: 11, 10 and 9 leave five.
  CHECK(pairs_by_bank(96, {3, 3}) == std::vector<int>{12, 10, 12, 10, 9, 10, 12, 10, 11});
  CHECK(pairs_by_bank(98, {3, 3}) == std::vector<int>{12, 11, 12, 10, 9, 10, 12, 10, 12});
  // A row of four: its ends are corners. 16 + 14 + 14 + 16 of 60: 61 are 16, 14, 14, 16, and one more.
  CHECK(pairs_by_bank(61, {1, 4}) == std::vector<int>{17, 14, 14, 16});
}

// Four cores of 4 GFLOP/s and 1 G elements; 444 pairs of 312.5 MHz.
TEST_CASE("hetero pim by hand: cores add up all operations, pairs take the more of two kinds") {
  const auto stack = catalog_device("hetero_pim");
  TensorOperation operation{.work = {8e9, 2e9, 1e9}};
  operation.patches.elements = 2e9;
  operation.patches.map_width = 0;
  CHECK(priced(*stack, operation, 1).compute.value() == Approx(10 / 16. + 3 / 4.));
  const TensorOperation more_products{.work = {444 * 3125., 1e5, 0}},
      more_sums{.work = {1e5, 444 * 3125., 0}};
  CHECK(priced(*stack, more_products, 0).time.value() == Approx(10e-6));
  CHECK(priced(*stack, more_sums, 0).time.value() == Approx(10e-6));
  CHECK(priced(*stack, {.work = {444 * 3125. + 1, 0, 0}}, 0).time.value() == Approx(3126 / 312.5e6));
}

TEST_CASE("hetero pim by hand: cores draw their power as long as they wait for the stack, pairs do not") {
  const auto stack = catalog_device("hetero_pim");
  const TensorOperation stream{.work = {1e6, 2e6, 0}, .read = Bytes(3e9), .written = Bytes(1e9)};
  const double moving = stack->spec().power.per_byte.value() * 4e9;
  const KernelCost cores = priced(*stack, stream, 1), pairs = priced(*stack, stream, 0);
  CHECK(cores.time == cores.traffic);
  CHECK(cores.energy.value() == Approx(moving + 4 * 0.95 * cores.time.value()));
  CHECK(pairs.energy.value() == Approx(moving + 3e6 * 2.3e-12));
  const auto fast = stack->at_clock(2);
  CHECK(priced(*fast, stream, 1).energy.value() == Approx(moving + 8 * 0.95 * cores.time.value()));
}

}  // namespace weir::test::hetero_by_hand
