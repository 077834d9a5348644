// The row of devices/catalog of a memory stack with processors on its logic die.
#include <cmath>

#include "devices/catalog_rows.h"
#include "devices/hetero_pim/hetero_pim.h"
#include "devices/hetero_pim/pair_banks.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

const CatalogNumbers& stack_numbers() {
  static const CatalogNumbers all = {
      {{"pair_clock_ghz", "Of a pair of a multiplier and an adder."}},
      {{"arm_clock_ghz", "Of the ARM cores."}},
      {{"arm_flops_per_cycle", "Multiplications and additions of an ARM core and cycle."}},
      {{"arm_elements_per_cycle", "Elements of anything else, moved ones too, of an ARM core and cycle."}},
      {{"arm_core_w", "Power of an ARM core that works."}, not_negative},
      {{"pairs_per_arm_core", "Pairs in the area of an ARM core: arm_cores beyond the row's displace them."},
       not_negative},
  };
  return all;
}

const CatalogCount stack_counts[] = {
    {{"vaults", "Banks of the stack: vertical slices, a channel each. null: as the catalog has it."}, 1024},
    {{"vault_columns", "Banks in a row of the grid that they form. null: as the catalog has it."}, 1024},
    {{"pairs", "Pairs of a multiplier and an adder beside the row's ARM cores. null: as the catalog has it."},
     1 << 20},
    {{"lanes_per_pair",
      "Multiplications and additions of a pair and cycle: 1 is the paper's machine, more a hypothetical one. "
      "null: as the catalog has it."},
     1024},
    {{"arm_cores", "ARM cores of the logic die. null: as the catalog has it."}, 4096},
    {{"base_arm_cores", "ARM cores beside which `pairs` fit. null: as the catalog has it."}, 4096},
};

void override_stack(Json& row, Params& params) {
  override_counts(row, stack_counts, params);
  override_numbers(row, stack_numbers(), params);
}

std::shared_ptr<const Device> read_stack(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  const std::map<std::string, std::int64_t> count = read_counts(row, stack_counts);
  const std::map<std::string, double> value = read_numbers(row, stack_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  const Json* given = row.value({"memory", ""}, {});
  DeviceSpec spec = common_spec(kind, row);
  close_row(row);
  const auto of = [&](const char* key) { return static_cast<int>(count.at(key)); };
  const double displaced = (of("arm_cores") - of("base_arm_cores")) * value.at("pairs_per_arm_core");
  const int pairs = static_cast<int>(std::floor(of("pairs") - displaced));
  if (pairs < 1) row.fail("arm_cores", "leaves no room for pairs on the logic die");
  if (of("vaults") % of("vault_columns") != 0) row.fail("vaults", "is not whole rows of vault_columns");
  reading.finish();
  const MemorySpec vault = memory_of(*given);
  const double hertz = si("arm_clock_ghz");
  spec.own().bandwidth = of("vaults") * vault.peak();
  StackStreams streams(vault, of("vaults"));
  spec.own().sustained = streams.reads();
  spec.own().capacity = Bytes(static_cast<double>(of("vaults") * vault.organisation.capacity()));
  const StackProcessors processors{
      .pairs = pairs_by_bank(pairs, {of("vaults") / of("vault_columns"), of("vault_columns")}),
      .pairs_per_second = si("pair_clock_ghz"),
      .lanes = static_cast<double>(of("lanes_per_pair")),
      .arm_cores = of("arm_cores"),
      .arm_multiply_adds = hertz * value.at("arm_flops_per_cycle"),
      .arm_elements = hertz * value.at("arm_elements_per_cycle"),
      .arm_power = Watts(value.at("arm_core_w"))};
  const FlopsPerSecond peak(2 * pairs * processors.lanes * processors.pairs_per_second);
  spec.peak = [peak](DataType type) { return type == DataType::fp32 ? peak : FlopsPerSecond(0); };
  return make_hetero_pim(std::move(spec), processors, std::move(streams));
}

}  // namespace

const DeviceClass& hetero_pim_class() {
  static const DeviceClass made = {
      .name = "hetero_pim", .override = override_stack, .read = read_stack, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
