#pragma once
// Energy of a channel's run, from its currents: what each command adds above standby, and standby itself.
// Micron's power model (TN-41-01), as DRAMsim3 has it.
#include "models/memory/dram/channel.h"

namespace weir {

struct DramEnergies {  // of one command; an activation with its precharge
  Joules activate, read, write, refresh;
  Watts active, idle;  // standby of a rank with and without an open row
};
DramEnergies dram_energies(const MemorySpec& memory);

struct ChannelEnergy {
  Joules activate, read, write, refresh, standby;
  Joules total() const { return activate + read + write + refresh + standby; }
};
// Energy of the run from cycle 0 to its last data.
ChannelEnergy energy(const MemorySpec& memory, const ChannelRun& run);

}  // namespace weir
