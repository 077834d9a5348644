#pragma once
// A DRAM's constraints as data: after `preceding`, `following` must wait `latency` cycles within the same
// node of `level` (Ramulator 2's idea). The table is made of a catalog row's numbers; the bank model enforces
// it without knowing what any row of it means, and tests hold every row at its boundary.
#include <vector>

#include "models/memory/memory_spec.h"

namespace weir {

// From gwrite on: a PIM's (pim/pim_timing.h); a plain channel issues none.
enum class DramCommand : std::uint8_t {
  activate,
  precharge,
  read,
  write,
  refresh,
  gwrite,
  header,
  group_activate,
  gemv,
  comp,
  result,
  pim_precharge,
};
inline constexpr std::size_t dram_commands = 12;
const char* to_string(DramCommand command);

enum class DramLevel : std::uint8_t { bank, bank_group, rank, other_ranks };

struct TimingConstraint {
  const char* name;  // JEDEC's, for people
  DramLevel level;   // a bank is in its group, a group in its rank; other_ranks: all but the command's own
  DramCommand preceding, following;
  Cycles latency;
  int window = 1;  // after the window-th last `preceding`: 4 for tFAW
};

// A latency that forbids nothing (0 or less) has no row.
std::vector<TimingConstraint> timing_constraints(const MemorySpec& memory);

}  // namespace weir
