#include "models/memory/cache.h"

#include <algorithm>
#include <ranges>

namespace weir {

void find_hits(Bytes capacity, std::span<CachedRead> reads) {
  Bytes room = capacity;
  for (CachedRead& r : std::views::reverse(reads)) {
    const Bytes there = std::min(r.fetched, room);
    room -= there;
    r.evicted = r.fetched - there;
    r.hits = std::min(there, r.read);
  }
}

}  // namespace weir
