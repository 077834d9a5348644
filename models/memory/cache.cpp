#include "models/memory/cache.h"

#include <algorithm>

namespace weir {

void find_hits(Bytes capacity, std::span<CachedRead> reads) {
  Bytes room = capacity;
  for (auto at = reads.rbegin(); at != reads.rend(); ++at) {  // clang 14 does not take libstdc++'s views
    CachedRead& r = *at;
    const Bytes there = std::min(r.fetched, room);
    room -= there;
    r.evicted = r.fetched - there;
    r.hits = std::min(there, r.read);
    r.left = there - r.hits;
  }
}

PrefetchBytes& PrefetchBytes::operator+=(const PrefetchBytes& other) {
  fetched += other.fetched;
  used += other.used;
  evicted += other.evicted;
  left += other.left;
  return *this;
}

PrefetchBytes operator*(double k, const PrefetchBytes& b) {
  return {k * b.fetched, k * b.used, k * b.evicted, k * b.left};
}

}  // namespace weir
