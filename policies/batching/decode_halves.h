#pragma once
// The decodes of a batch in two halves of nearly equal contexts (L3, Section 5.3, step 2), and of those in
// each memory channel too, so that each half keeps all channels busy. Used by adaptive_chunk_interleaving
// alone.
#include "policies/batching/batching.h"

namespace weir {

// Sets Slice::sub_batch of every slice, all of which are decodes. The batch is valid for no more steps than
// the halves would be the same. The sums of tokens differ by the longest context at most.
void part_decodes(const ServingView& view, Batch& batch);

}  // namespace weir
