// The memory stack with pairs and ARM cores on its logic die (Liu et al., MICRO 2018, sections IV-D and V-A).
#include "devices/hetero_pim/pair_banks.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/studies/validation/kernels.h"
#include "test/devices/tensor_operations.h"

namespace weir::test {
namespace {

constexpr int on_pairs = 0, on_arm = 1;

// So many multiplications and additions, on no bytes.
TensorOperation steps(double each, std::int64_t side = 0) {
  return {.work = {each, each, 0}, .window = side * side};
}

TensorOperation elements(double others, double patches = 0) {
  TensorOperation operation;
  operation.work.other = others;
  operation.patches.elements = patches;
  return operation;
}

double seconds(const Device& device, const TensorOperation& operation, int unit) {
  return priced(device, operation, unit).time.value();
}

std::string stack_problems(const Json& keys) {
  try {
    catalog_device("hetero_pim", keys);
  } catch (const ConfigError& error) {
    std::string all;
    for (const Problem& problem : error.problems()) all += problem.pointer + ": " + problem.what + "\n";
    return all;
  }
  return "";
}

}  // namespace

TEST_CASE("hetero pim: 444 pairs at 312.5 MHz are 0.2775 TFLOP/s, and 32 vaults 320 GB/s") {
  const auto stack = catalog_device("hetero_pim");
  const DeviceSpec& spec = stack->spec();
  CHECK(spec.peak(DataType::fp32) == FlopsPerSecond(0.2775e12));
  CHECK(spec.peak(DataType::bf16) == FlopsPerSecond(0));
  CHECK(spec.own().bandwidth.value() == Approx(320e9));
  CHECK(spec.own().capacity == Bytes(static_cast<double>(std::int64_t{8} << 30)));
  CHECK(unit_names(spec.units) == "pairs, arm");
  CHECK(spec.units[on_pairs].amount == 444);
  CHECK_FALSE(spec.units[on_pairs].runs(tensor_operation_kind));
  CHECK(priced(*stack, steps(444 * 312.5e6), on_pairs).time == Seconds(1));
}

TEST_CASE("hetero pim: 13 pairs in each of 12 central banks, 14 in 16 at edges, 16 in 4 corners") {
  const BankGrid grid;
  const std::vector<int> pairs = pairs_by_bank(444, grid);
  std::map<BankPlace, std::vector<int>> by_place;
  for (int bank = 0; bank < grid.banks(); ++bank)
    by_place[grid.place(bank)].push_back(pairs[static_cast<std::size_t>(bank)]);
  CHECK(by_place[BankPlace::central] == std::vector<int>(12, 13));
  CHECK(by_place[BankPlace::edge] == std::vector<int>(16, 14));
  CHECK(by_place[BankPlace::corner] == std::vector<int>(4, 16));
}

TEST_CASE("hetero pim: any number of pairs is dealt out whole, corners first, then edges") {
  Dice dice(31);
  for (int i = 0; i < 400; ++i) {
    const BankGrid grid{static_cast<int>(dice(1, 8)), static_cast<int>(dice(1, 8))};
    const int pairs = static_cast<int>(dice(0, i < 50 ? 40 : 5000));
    CAPTURE(grid.rows, grid.columns, pairs);
    const std::vector<int> placed = pairs_by_bank(pairs, grid);
    REQUIRE(std::ssize(placed) == grid.banks());
    CHECK(std::accumulate(placed.begin(), placed.end(), 0) == pairs);
    for (int a = 0; a < grid.banks(); ++a)
      for (int b = 0; b < grid.banks(); ++b) {
        const int more = placed[static_cast<std::size_t>(a)], less = placed[static_cast<std::size_t>(b)];
        REQUIRE(less >= 0);
        if (grid.place(a) > grid.place(b)) REQUIRE(more >= less);
        if (grid.place(a) == grid.place(b)) REQUIRE(std::abs(more - less) <= 1);
      }
  }
}

TEST_CASE("hetero pim: an operator starts with one window and takes as many whole ones as fit") {
  const auto stack = catalog_device("hetero_pim");
  const std::map<std::int64_t, double> most = {{11, 363}, {7, 441}, {5, 425}, {3, 441}};  // 3, 9, 17, 49
  for (const auto& [side, pairs] : most) {
    INFO(side);
    const Device::PoolShare share = pool_share(*stack, steps(1e9, side));
    CHECK(share.least == static_cast<double>(side * side));
    CHECK(share.most == pairs);
    CHECK(seconds(*stack, steps(pairs * 1e6, side), on_pairs) == Approx(1e6 / 312.5e6));
    CHECK(pool_share(*stack, steps(1, side)).most == share.least);
  }
  CHECK(pool_share(*stack, steps(1e9)).least == 1);
  CHECK(pool_share(*stack, steps(1e9)).most == 444);
  CHECK(pool_share(*stack, steps(10)).most == 10);
  CHECK(pool_share(*stack, steps(1e9, 22)).least == 444);  // 484: all that there are
}

TEST_CASE("hetero pim: the ARM cores multiply and add at 16 GFLOP/s, and move 4 G elements a second") {
  const auto stack = catalog_device("hetero_pim");
  CHECK(seconds(*stack, steps(8e9), on_arm) == Approx(1));
  CHECK(seconds(*stack, elements(4e9), on_arm) == Approx(1));
  CHECK(seconds(*stack, elements(1e9, 3e9), on_arm) == Approx(1));
  CHECK(priced(*stack, elements(4e9), on_arm).energy.value() == Approx(4 * 0.95));
  CHECK(priced(*stack, steps(1e9), on_pairs).energy.value() == Approx(2e9 * 2.3e-12));
}

TEST_CASE("hetero pim: a clock multiple speeds up pairs and ARM cores, and not the stack") {
  const auto base = catalog_device("hetero_pim"), fast = base->at_clock(4);
  TensorOperation stream;
  stream.read = stream.written = Bytes(1e9);
  for (const int unit : {on_pairs, on_arm}) {
    CHECK(seconds(*base, steps(4.44e9), unit) == Approx(4 * seconds(*fast, steps(4.44e9), unit)));
    CHECK(priced(*base, stream, unit).traffic == priced(*fast, stream, unit).traffic);
  }
  CHECK(seconds(*base, elements(1e9), on_arm) == Approx(4 * seconds(*fast, elements(1e9), on_arm)));
  CHECK(fast->spec().own() == base->spec().own());
  CHECK(fast->spec().peak(DataType::fp32) == 4 * base->spec().peak(DataType::fp32));
  CHECK(pool_share(*fast, steps(1e9, 3)).most == pool_share(*base, steps(1e9, 3)).most);
  // Four times the power for a quarter of the time.
  CHECK(priced(*fast, elements(1e9), on_arm).energy.value() ==
        Approx(priced(*base, elements(1e9), on_arm).energy.value()));
}

TEST_CASE("hetero pim: lanes speed up pairs alone") {
  const auto base = catalog_device("hetero_pim"),
             wide = catalog_device("hetero_pim", {{"lanes_per_pair", 16}});
  CHECK(wide->spec().peak(DataType::fp32) == FlopsPerSecond(4.44e12));
  CHECK(seconds(*base, steps(444 * 16e6), on_pairs) ==
        Approx(16 * seconds(*wide, steps(444 * 16e6), on_pairs)));
  CHECK(seconds(*base, steps(1e9), on_arm) == seconds(*wide, steps(1e9), on_arm));
  CHECK(wide->spec().own() == base->spec().own());
  CHECK(pool_share(*wide, steps(160)).most == 10);
}

TEST_CASE("hetero pim: ARM cores beyond the row's take the place of pairs") {
  const std::map<int, double> pairs = {{1, 454}, {4, 444}, {5, 440}, {16, 403}, {32, 348}};  // 3.4 a core
  for (const auto& [cores, left] : pairs) {
    INFO(cores);
    const auto stack = catalog_device("hetero_pim", {{"arm_cores", cores}, {"pairs_per_arm_core", 3.4}});
    CHECK(stack->spec().units[on_pairs].amount == left);
    CHECK(stack->spec().peak(DataType::fp32).value() == Approx(2 * left * 312.5e6));
    CHECK(seconds(*stack, elements(1e9), on_arm) == Approx(1. / cores));
  }
  CHECK_THAT(stack_problems({{"arm_cores", 200}}), Catch::Contains("/arm_cores: leaves no room for pairs"));
}

TEST_CASE("hetero pim: the kernels of an operator's images do the work of the whole") {
  const auto stack = catalog_device("hetero_pim");
  Dice dice(32);
  for (int i = 0; i < 200; ++i) {
    const TensorOperation whole = random_tensor_operation(dice);
    const double images = static_cast<double>(dice(1, 128));
    const TensorOperation image = (1 / images) * whole;
    const KernelCost one = priced(*stack, image, on_arm), all = priced(*stack, whole, on_arm);
    CHECK(images * one.flops.value() == Approx(all.flops.value()));
    CHECK(images * one.moved[own_memory].value() == Approx(all.moved[own_memory].value()));
    CHECK(images * one.time.value() == Approx(all.time.value()));
    CHECK(images * one.energy.value() == Approx(all.energy.value()));
    // On pairs whole cycles count, and a few steps take few pairs.
    const TensorOperation middle = split(whole).middle;
    CHECK(images * seconds(*stack, (1 / images) * middle, on_pairs) >=
          seconds(*stack, middle, on_pairs) * (1 - 1e-9));
  }
}

TEST_CASE("hetero pim: bad keys are problems at their pointers, all at once") {
  const std::string found = stack_problems({{"vaults", 30},
                                            {"pairs", 0},
                                            {"lanes_per_pair", 1.5},
                                            {"arm_clock_ghz", 0},
                                            {"arm_core_w", -1},
                                            {"memory", "hmc3_vault"},
                                            {"pair_clock_mhz", 312}});
  for (const char* pointer : {"/pairs: ", "/lanes_per_pair: ", "/arm_clock_ghz: ", "/arm_core_w: ",
                              "/memory: ", "/pair_clock_mhz: unknown key"})
    CHECK_THAT(found, Catch::Contains(pointer));
  CHECK_THAT(stack_problems({{"vaults", 30}}), Catch::Contains("/vaults: is not whole rows"));
  CHECK(stack_problems({{"vaults", 16}, {"arm_clock_ghz", 2}}).empty());
}

}  // namespace weir::test
