#pragma once
// An independent judge of a PIM channel's command log: every pair of commands against the constraint table by
// brute force, the states that commands need, and that no refresh falls inside a GEMV.
#include <string>

#include "models/memory/pim/pim_channel.h"

namespace weir::test {

// The first thing wrong with it; "" if there is none.
std::string pim_violation(const MemorySpec& memory, const PimOptions& options,
                          const std::vector<PimCommand>& log);

}  // namespace weir::test
