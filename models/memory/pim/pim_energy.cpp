#include "models/memory/dram/energy.h"
#include "models/memory/pim/pim_channel.h"

namespace weir {

PimEnergy pim_energy(const MemorySpec& memory, const PimRun& run) {
  const PimSpec& pim = *memory.pim;
  const auto of = [](std::int64_t count, Joules each) {
    return Joules(static_cast<double>(count) * each.value());
  };
  const DramEnergies normal = dram_energies(memory);
  // The current of a refresh is that of all banks; here a rank is a part of them.
  const Joules refresh(normal.refresh.value() / pim.ranks);
  return {of(run.count(DramCommand::group_activate), pim.group_activate), of(run.comps, pim.all_bank_comp),
          of(run.count(DramCommand::gwrite), pim.gwrite_energy), of(run.results, pim.result),
          of(run.count(DramCommand::refresh), refresh)};
}

}  // namespace weir
