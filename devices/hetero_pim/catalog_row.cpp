// The row of devices/catalog of a memory stack with processors on its logic die.
#include <cmath>

#include "devices/catalog_rows.h"
#include "devices/hetero_pim/hetero_pim.h"
#include "devices/hetero_pim/pair_banks.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

struct StackRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    keys.count({"vaults", "Banks of the stack: vertical slices, a channel each."}, vaults, 1024);
    keys.count({"vault_columns", "Banks in a row of the grid that they form."}, columns, 1024);
    keys.count({"pairs", "Pairs of a multiplier and an adder beside the row's ARM cores."}, pairs, 1 << 20);
    keys.count({"lanes_per_pair",
                "Multiplications and additions of a pair and cycle: 1 is the paper's machine, more a "
                "hypothetical one."},
               processors.lanes, 1024);
    keys.count({"arm_cores", "ARM cores of the logic die."}, processors.arm_cores, 4096);
    keys.count({"base_arm_cores", "ARM cores beside which `pairs` fit."}, base_arm_cores, 4096);
    keys.quantity({"pair_clock_ghz", "Of a pair of a multiplier and an adder."}, processors.pairs_per_second);
    keys.quantity({"arm_clock_ghz", "Of the ARM cores."}, arm_hertz);
    keys.number({"arm_flops_per_cycle", "Multiplications and additions of an ARM core and cycle."},
                arm_flops);
    keys.number(
        {"arm_elements_per_cycle", "Elements of anything else, moved ones too, of an ARM core and cycle."},
        arm_elements);
    keys.quantity({"arm_core_w", "Power of an ARM core that works."}, processors.arm_power, not_negative);
    keys.number(
        {"pairs_per_arm_core", "Pairs in the area of an ARM core: arm_cores beyond the row's displace them."},
        pairs_per_arm_core, not_negative);
    bind_memory(keys, vault);
    if (Params* row = keys.row()) fit_on_die(*row);
  }

  void fit_on_die(Params& row) {
    const double displaced = (processors.arm_cores - base_arm_cores) * pairs_per_arm_core;
    pairs = static_cast<int>(std::floor(pairs - displaced));
    if (pairs < 1) row.fail("arm_cores", "leaves no room for pairs on the logic die");
    if (vaults % columns != 0) row.fail("vaults", "is not whole rows of vault_columns");
  }

  std::shared_ptr<const Device> make() override {
    spec.own().bandwidth = vaults * vault.peak();
    StackStreams streams(vault, vaults);
    spec.own().sustained = streams.reads();
    spec.own().capacity = Bytes(static_cast<double>(vaults * vault.organisation.capacity()));
    processors.pairs = pairs_by_bank(pairs, {vaults / columns, columns});
    processors.arm_multiply_adds = arm_hertz * arm_flops;
    processors.arm_elements = arm_hertz * arm_elements;
    const FlopsPerSecond peak(2 * pairs * processors.lanes * processors.pairs_per_second);
    spec.peak = [peak](DataType type) { return type == DataType::fp32 ? peak : FlopsPerSecond(0); };
    return make_hetero_pim(std::move(spec), processors, std::move(streams));
  }

  StackProcessors processors;
  int vaults = 1, columns = 1, pairs = 1, base_arm_cores = 1;
  double arm_hertz = 0, arm_flops = 0, arm_elements = 0;  // of a core; the last two a cycle
  double pairs_per_arm_core = 0;
  MemorySpec vault;
};

}  // namespace

const DeviceClass& hetero_pim_class() {
  static const DeviceClass made = {
      .name = "hetero_pim", .row = empty_row<StackRow>, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
