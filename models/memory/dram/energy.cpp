#include "models/memory/dram/energy.h"

#include <numeric>

namespace weir {

DramEnergies dram_energies(const MemorySpec& memory) {
  const DramCurrents& i = memory.currents;
  const DramTimings& t = memory.timings;
  const Seconds tck = memory.clock;
  const auto watts = [&](double ma) { return Watts(i.vdd_v * 1e-3 * ma * i.devices); };
  const auto during = [&](double ma, Cycles n) { return watts(ma) * (static_cast<double>(n) * tck); };
  return {.activate = during(i.idd0_ma, t.ras + t.rp) - during(i.idd3n_ma, t.ras) - during(i.idd2n_ma, t.rp),
          .read = during(i.idd4r_ma - i.idd3n_ma, t.burst),
          .write = during(i.idd4w_ma - i.idd3n_ma, t.burst),
          .refresh = during(i.idd5_ma - i.idd3n_ma, t.rfc),
          .active = watts(i.idd3n_ma),
          .idle = watts(i.idd2n_ma)};
}

ChannelEnergy energy(const MemorySpec& memory, const ChannelRun& run) {
  const DramEnergies one = dram_energies(memory);
  const auto of = [&](DramCommand c, Joules each) { return static_cast<double>(run.count(c)) * each; };
  const Cycles active = std::accumulate(run.rank_active.begin(), run.rank_active.end(), Cycles{0});
  const Cycles idle = memory.organisation.ranks * run.last_data_end - active;
  return {.activate = of(DramCommand::activate, one.activate),
          .read = of(DramCommand::read, one.read),
          .write = of(DramCommand::write, one.write),
          .refresh = of(DramCommand::refresh, one.refresh),
          .standby = one.active * (static_cast<double>(active) * memory.clock) +
                     one.idle * (static_cast<double>(idle) * memory.clock)};
}

}  // namespace weir
