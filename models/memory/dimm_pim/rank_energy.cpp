#include "models/memory/dimm_pim/rank_attention.h"
#include "models/memory/dram/energy.h"

namespace weir {
namespace {

// L3, Table 5. A bank unit has four multipliers, an 8-byte column's worth; one of a wider column is taken as
// so many of them (ESTIMATE).
constexpr double bank_unit_watts = 1.129e-3, adder_watts = 1.812e-3, softmax_watts = 4.345e-3;
constexpr double bank_unit_bytes = 8;

// ESTIMATE: a column read that stays in the bank takes the cells' part of IDD4R - IDD3N; the rest is the way
// to the pins. Split as HBM2's (AttAcc, citing FGDRAM, MICRO'17): cells 0.44 pJ/bit, column to bank group
// 1.01, bank group to global I/O 1.23.
constexpr double cells_part = 0.44 / (0.44 + 1.01 + 1.23);

}  // namespace

Joules rank_energy(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t head_dim,
                   const RankRun& run) {
  using enum DramCommand;
  const HeadPipeline pipe = head_pipeline(memory, options, head_dim);
  const DramEnergies dram = dram_energies(memory);
  const DramOrganisation& o = memory.organisation;
  const double banks = o.banks_per_rank(), chips = memory.currents.devices;
  const auto count = [&](DramCommand c) { return static_cast<double>(run.count(c)); };
  const auto seconds = [&](double cycles) { return cycles * memory.clock; };
  const Cycles of_column = pipe.score.banks / pipe.score.columns;  // head_pipeline multiplied them
  const auto column = static_cast<double>(of_column);
  const double burst = static_cast<double>(pipe.readout) / banks;

  const Joules commands = count(activate) * dram.activate + count(comp) * banks * cells_part * dram.read +
                          count(result) * (1 - cells_part) * dram.read +
                          count(gwrite) * (1 - cells_part) * dram.write + count(refresh) * dram.refresh;
  const double units = banks * static_cast<double>(o.access_bytes) / bank_unit_bytes;
  const Joules calculation = Watts(bank_unit_watts * units) * seconds(count(comp) * column) +
                             Watts(adder_watts * chips / 8) * seconds(count(result) * burst) +
                             Watts(softmax_watts) * seconds(static_cast<double>(run.softmax_busy));
  return commands + calculation;
}

Watts rank_unit_power(const MemorySpec& memory) {
  const double units = static_cast<double>(memory.organisation.access_bytes) / bank_unit_bytes;
  return Watts(bank_unit_watts * units + adder_watts + softmax_watts);
}

Watts bank_level_unit_power(const MemorySpec& memory) {
  const DramOrganisation& o = memory.organisation;
  const double units = o.banks_per_rank() * static_cast<double>(o.access_bytes) / bank_unit_bytes;
  return Watts(bank_unit_watts * units + adder_watts * memory.currents.devices / 8 + softmax_watts +
               relayout_watts);
}

}  // namespace weir
