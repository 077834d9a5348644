#pragma once
// An independent judge of a channel's command log: every pair of commands against the constraint table, by
// brute force, and the states that commands need. It shares no code with the bank model but the table.
#include <string>

#include "models/memory/dram/channel.h"

namespace weir::test {

// The first constraint that the log breaks; "" if there is none.
std::string broken_constraint(const MemorySpec& memory, const std::vector<IssuedCommand>& log);
// The same, then what a command does that its bank's state, the command bus or the data bus forbids.
std::string first_violation(const MemorySpec& memory, const std::vector<IssuedCommand>& log);

// Requests of both kinds, some of them near each other, some to the same places, with pauses.
std::vector<MemoryRequest> random_requests(const MemorySpec& memory, int n, unsigned seed);

}  // namespace weir::test
