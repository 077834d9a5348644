#pragma once
// Random numbers for whoever draws: one stream per purpose, so that taking one number more for the lengths
// moves no arrival. Boost.Random and not <random>, whose distributions differ between standard libraries: the
// same seed gives the same run everywhere.
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/seed_seq.hpp>
#include <cstdint>
#include <string_view>

namespace weir {

using Rng = boost::random::mt19937_64;

// The stream of one purpose, e.g. "arrivals": independent of every other purpose and of every other seed.
inline Rng random_stream(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t name = 0xcbf29ce484222325;  // FNV-1a; std::hash is not the same everywhere
  for (const char c : purpose) name = (name ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  boost::random::seed_seq sequence{low(seed), low(seed >> 32), low(name), low(name >> 32)};
  return Rng(sequence);
}

}  // namespace weir
