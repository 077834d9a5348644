#pragma once
// One DRAM channel with its controller, command by command: what happens to a list of reads and writes. It
// jumps from one time at which anything can happen to the next; what it does in a cycle, and in which order,
// is DRAMsim3's, with which it agrees request by request:
//   - one request is offered a cycle, in order, blocking while its queue (reads, writes) is full;
//   - one moves a cycle from those queues to its bank's queue: the first that fits;
//   - one command a cycle: that of a due refresh, else that of the next bank with one ready (bank_queues.h);
//   - rows stay open; writes drain when their queue is full, when the banks idle and it holds more than
//     drain_above, or when nothing else is left;
//   - where the row says so, each column command closes its own row (PagePolicy), and writes wait among the
//     reads and are not kept back (unified_queue);
//   - a read of a waiting write takes its data; writes to one address, and reads of one, are merged.
#include <span>
#include <vector>

#include "models/memory/dram/timing_constraints.h"

namespace weir {

struct MemoryRequest {
  Cycles arrival = 0;  // ascending; accepted then at the earliest, but not before cycle 1
  std::uint64_t address = 0;
  bool is_write = false;
};

struct ServedRequest {
  Cycles accept = -1;
  Cycles complete = -1;  // data of a read is there; a write is posted and stays at -1
  Cycles data_end = -1;  // its burst is over on the bus
};

struct IssuedCommand {
  Cycles cycle;
  DramCommand command;
  int bank;  // of a refresh: its rank's first
  std::int64_t row;
};

struct ChannelRun {
  std::vector<ServedRequest> requests;
  std::array<std::int64_t, dram_commands> commands{};
  std::int64_t row_hits = 0;  // column commands after the first of an activation
  std::int64_t merged = 0;    // requests that needed none: served by a waiting one
  Cycles first_accept = 0, last_data_end = 0;
  std::vector<Cycles> rank_active;  // cycles with an open row, by rank

  Cycles span() const { return last_data_end - first_accept; }
  std::int64_t count(DramCommand c) const { return commands[static_cast<std::size_t>(c)]; }
  std::int64_t accesses() const { return count(DramCommand::read) + count(DramCommand::write); }
};

struct ChannelOptions {
  bool refresh = true;
  std::vector<IssuedCommand>* log = nullptr;  // gets every command
};

ChannelRun play(const MemorySpec& memory, std::span<const MemoryRequest> requests,
                const ChannelOptions& options = {});

}  // namespace weir
