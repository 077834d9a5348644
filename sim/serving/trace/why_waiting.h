#pragma once
// Why the first request that waits was not admitted: the policy's word where it has one, else what the
// replica's own books say that the step had no more of. Pure.
#include "policies/batching/batching.h"

namespace weir {

struct WhyWaiting {
  std::int32_t first = -1;    // -1: none waits
  const char* why = nullptr;  // a word of docs/results.md
  std::int64_t lacks = 0;     // KV blocks

  bool same_reason(const WhyWaiting& other) const;  // whatever the number of blocks
};

WhyWaiting why_waiting(const BatchingPolicy& policy, const ServingView& view, const Batch& batch);

}  // namespace weir
