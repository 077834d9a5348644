#pragma once
// A cache that is filled ahead of use, as far as a step needs it: how much of each prefetch is still there
// when it is read. Other reads pass through without pushing prefetches out (evict-first hints).
#include <span>

#include "sim/core/units.h"

namespace weir {

struct CachedRead {
  Bytes fetched;  // ahead of all reads, in this order
  Bytes read;     // by its reader
  Bytes evicted;  // the answers: by later prefetches
  Bytes hits;     // at most `read`
  Bytes left;     // there and never asked for: of experts that no token was routed to
};
// Bytes fetched beyond the capacity push out what was fetched first.
void find_hits(Bytes capacity, std::span<CachedRead> reads);

// Prefetched bytes are used, evicted, or left in the end: fetched = used + evicted + left.
struct PrefetchBytes {
  Bytes fetched{}, used{}, evicted{}, left{};

  PrefetchBytes& operator+=(const PrefetchBytes& other);
  friend PrefetchBytes operator*(double k, const PrefetchBytes& bytes);
};

}  // namespace weir
