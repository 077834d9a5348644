#pragma once
// Do the numbers of a memory's row fit each other? Asked by its reader when each is right by itself: what
// passes serves every request in the end.
#include "models/memory/memory_spec.h"
#include "sim/core/params.h"

namespace weir {

void check_memory(Params& params, const MemorySpec& memory);

}  // namespace weir
