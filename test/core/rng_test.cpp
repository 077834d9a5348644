// Random bits in bulk against the published generator, a stream at a time.
#include "sim/core/rng.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace weir;

namespace {

// xoshiro256plusplus.c of Blackman and Vigna (public domain), as it stands there.
struct Xoshiro256PlusPlus {
  std::array<std::uint64_t, 4> s;

  static std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t next() {
    const std::uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
  }
};

}  // namespace

TEST_CASE("rng: bulk bits are four streams of xoshiro256++ in turn, however they are taken") {
  Rng seeds = random_stream(1, "test");
  std::array<Xoshiro256PlusPlus, BulkRng::streams> streams;
  for (std::size_t word = 0; word < 4; ++word)
    for (Xoshiro256PlusPlus& stream : streams) stream.s[word] = seeds();
  BulkRng bulk(random_stream(1, "test"));
  for (const std::size_t length : {4u, 64u, 8u}) {
    std::vector<std::uint64_t> words(length);
    bulk.fill(words);
    for (std::size_t i = 0; i < length; ++i) CHECK(words[i] == streams[i % BulkRng::streams].next());
  }
}
