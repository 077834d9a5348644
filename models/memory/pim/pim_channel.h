#pragma once
// GEMVs on the PIM of one channel, command by command, alone or beside normal reads and writes. A chunk
// (gemv.h) is a GWRITE, then its tiles: header, an activation of every group of banks, the GEMVs, precharges.
// Every tREFI / ranks a rank is refreshed, and a tile or a GWRITE starts only if it is over by then; else it
// waits for that refresh.
#include <functional>
#include <span>

#include "models/memory/dram/channel.h"
#include "models/memory/pim/gemv.h"
#include "models/memory/pim/pim_timing.h"

namespace weir {

struct PimCommand {
  Cycles cycle;
  DramCommand command;
  int bank;   // the first of a group or a rank; 0 of a command to the whole channel
  int comps;  // of a gemv
};

struct PimOptions {
  PimTiming timing = PimTiming::physical;
  RowBuffers buffers = RowBuffers::dual;
  bool refresh = true;
  std::vector<PimCommand>* log = nullptr;  // gets every command; one that closes all banks: a line a bank
  std::function<void(double share)> progress = {};  // of the tiles that are played; every 50 ms or so
};

struct PimRun {
  Cycles cycles = 0;  // from cycle 0 until the last result is outside
  std::array<std::int64_t, dram_commands> commands{};
  std::int64_t comps = 0;  // COMPs, those inside gemv commands too
  std::int64_t results = 0;

  std::int64_t count(DramCommand c) const { return commands[static_cast<std::size_t>(c)]; }
};

PimRun play_pim(const MemorySpec& memory, std::span<const PimChunk> chunks, const PimOptions& options = {});

// Why the channel could never play it: a tile, or a GWRITE, and a refresh take longer than there is between
// two refreshes. "" if it can; the others throw std::invalid_argument where it cannot.
std::string cannot_play(const MemorySpec& memory, const PimRequest& request, const PimOptions& options = {});

// The GEMVs of these requests, in order, as one stream of commands.
PimRun play_pim(const MemorySpec& memory, std::span<const PimRequest> requests,
                const PimOptions& options = {});

// The same beside normal accesses (`normal`, as dram/channel.h has them). One command bus, PIM commands
// first; one refresh, of both kinds of rows. With dual row buffers both run at once: a GWRITE alone takes a
// bank (0) from normal accesses. With single ones normal accesses wait until the PIM is through and its rows
// are closed.
struct PimBeside {
  PimRun pim;         // as if alone: its own commands, until its last result
  ChannelRun normal;  // to the last of them
};
PimBeside play_pim_beside(const MemorySpec& memory, std::span<const PimChunk> chunks,
                          std::span<const MemoryRequest> normal, const PimOptions& options = {},
                          std::vector<IssuedCommand>* normal_log = nullptr);

// Energies of the commands: an activation of a group with its precharges, COMPs of all banks.
struct PimEnergy {
  Joules group_activate, comp, gwrite, result, refresh;
  Joules total() const { return group_activate + comp + gwrite + result + refresh; }
};
PimEnergy pim_energy(const MemorySpec& memory, const PimRun& run);

}  // namespace weir
