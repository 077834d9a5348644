#include "models/memory/cache.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace weir;

TEST_CASE("cache: what is fetched beyond the capacity pushes out what was fetched first") {
  std::vector<CachedRead> reads = {{Bytes(60), Bytes(60), {}, {}, {}}, {Bytes(50), Bytes(80), {}, {}, {}}};
  find_hits(Bytes(100), reads);
  CHECK((reads[0].evicted == Bytes(10) && reads[0].hits == Bytes(50)));
  CHECK((reads[1].evicted == Bytes(0) && reads[1].hits == Bytes(50)));
  find_hits(Bytes(110), reads);
  CHECK((reads[0].evicted == Bytes(0) && reads[0].hits == Bytes(60)));
  find_hits(Bytes(30), reads);
  CHECK((reads[0].hits == Bytes(0) && reads[1].hits == Bytes(30) && reads[1].evicted == Bytes(20)));
}

TEST_CASE("cache: every byte fetched is read, evicted or never asked for, and no more is held than fits") {
  std::mt19937_64 random(5);
  const auto bytes = [&](unsigned most) { return Bytes(static_cast<double>(random() % most)); };
  for (int round = 0; round < 500; ++round) {
    const Bytes capacity = bytes(300);
    std::vector<CachedRead> reads(random() % 8);
    for (CachedRead& r : reads) r = {bytes(100), bytes(120), Bytes(-1), Bytes(-1), Bytes(-1)};
    find_hits(capacity, reads);
    Bytes held, fetched, evicted;
    for (const CachedRead& r : reads) {
      CHECK(r.hits + r.evicted + r.left == r.fetched);
      CHECK((r.left >= Bytes(0) && r.hits >= Bytes(0) && r.evicted >= Bytes(0) && r.hits <= r.read));
      CHECK((r.left == Bytes(0) || r.hits == r.read));  // what is left was not asked for
      held += r.fetched - r.evicted, fetched += r.fetched, evicted += r.evicted;
    }
    CHECK(held <= capacity);
    if (fetched <= capacity) CHECK(evicted == Bytes(0));
  }
}
