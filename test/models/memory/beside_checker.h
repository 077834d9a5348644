#pragma once
// An independent judge of a channel that a PIM and normal accesses share: both logs as one, every pair of
// commands against the constraint table, the rows of both kinds, the command bus and the data bus.
#include <string>

#include "models/memory/pim/pim_channel.h"

namespace weir::test {

// The first thing wrong with it; "" if there is none.
std::string beside_violation(const MemorySpec& memory, const PimOptions& options,
                             const std::vector<PimCommand>& pim, const std::vector<IssuedCommand>& normal);

}  // namespace weir::test
