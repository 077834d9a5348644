#pragma once
// One rank of DIMM-PIM forbids these, as rows of the constraint table (dram/timing_constraints.h): activate
// and precharge of a bank, comp (a column read of all banks into their units), result (a burst out of the
// units' result buffers to the buffer chip), gwrite (a burst into their shared buffers), refresh. Results and
// gwrites share the wires between chips and buffer chip, not the banks (Section 4.3: domains that do not
// interfere).
#include "models/memory/dimm_pim/dimm_pim_options.h"
#include "models/memory/dram/timing_constraints.h"

namespace weir {

// The memory's channel as if one rank were alone there.
MemorySpec one_rank(const MemorySpec& memory);

std::vector<TimingConstraint> dimm_pim_constraints(const MemorySpec& memory, ActivationMode mode);

}  // namespace weir
