#pragma once
// Decode attention on the banks of one rank, command by command: heads one after the other, each a score and
// a context over its chunks (head_pipeline.h). All banks open a row, read it in step, close it. Heads that
// share K and V share no command: a unit has one vector and as many multipliers as a column read feeds, so
// grouped-query attention saves no column reads.
//
// Refresh (Section 4.4): the rank's own, between heads, all that are owed; within a head only where it costs
// nothing, because the banks wait for the softmax unit, or where more than `postponed_refreshes` would be
// owed: at the end of a row, or between chunks where a row lasts too long.
//
// The first query is in the shared buffers at cycle 0, the next ones come in beside the head before.
#include <array>
#include <vector>

#include "models/memory/dimm_pim/head_pipeline.h"
#include "models/memory/dram/timing_constraints.h"

namespace weir {

struct RankCommand {
  Cycles cycle;
  DramCommand command;
  int bank;  // 0 of a command to all
};

struct RankRun {
  Cycles first_score = 0;  // the first head's K rows are read and closed
  Cycles banks_free = 0;   // all rows closed, owed refreshes over: the next head can open its first
  Cycles last_result = 0;  // on the buffer chip; the next head's activations are beside it
  std::array<std::int64_t, dram_commands> commands{};  // of precharge and activate: a bank each
  Cycles softmax_busy = 0;

  std::int64_t count(DramCommand c) const { return commands[static_cast<std::size_t>(c)]; }
};

// Throws std::invalid_argument as head_pipeline() does, for no heads or tokens, and for more tokens than the
// buffer chip holds.
RankRun play_rank(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t heads,
                  std::int64_t head_dim, std::int64_t tokens, std::vector<RankCommand>* log = nullptr);

}  // namespace weir
