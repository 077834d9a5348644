#pragma once
// A PIM channel forbids these, as rows of the constraint table (dram/timing_constraints.h), in two named
// modes:
//   artifact: what the authors' simulator does (NewtonSim). A result returns in no time (the next tile does
//   not
//             wait for the last composite), 32 precharges follow one another, one a cycle;
//   physical: a tile waits for its results, and one PIM_PRECHARGE closes all banks. The default.
// Beside normal accesses (with dual row buffers) both keep a rank's normal activations tFAW behind a group's.
// The artifact lets a group follow a normal activation after tRRD, physical only after tFAW: four banks are
// all that the window holds. Commands: gwrite (a row to the global buffer), header, group_activate (the banks
// of a group), gemv (with dual row buffers: one head's COMPs and its result in one command), comp and result
// (with single ones), pim_precharge.
#include "models/memory/dram/timing_constraints.h"

namespace weir {

enum class PimTiming { artifact, physical };
enum class RowBuffers { dual, single };  // single: a normal row and a PIM row exclude each other in a bank

// The banks as the PIM's ranks and groups have them.
DramOrganisation pim_organisation(const MemorySpec& memory);

std::vector<TimingConstraint> pim_constraints(const MemorySpec& memory, PimTiming mode, RowBuffers buffers);

// The channel as normal accesses beside the PIM's commands see it: in the PIM's ranks and groups, with its
// controller's queues.
MemorySpec pim_memory(const MemorySpec& memory);
// That channel's rules: what normal accesses, the PIM's commands and one of each forbid.
std::vector<TimingConstraint> shared_constraints(const MemorySpec& memory, PimTiming mode,
                                                 RowBuffers buffers);

// From the first COMP of a head to the first of the next: its COMPs through the pipeline, and its result.
Cycles gemv_time(const PimSpec& pim, int comps);

}  // namespace weir
