#pragma once
// Random numbers for whoever draws: one stream per purpose, so that taking one number more for the lengths
// moves no arrival. Boost.Random and not <random>, whose distributions differ between standard libraries: the
// same seed gives the same run everywhere.
#include <array>
#include <bit>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/seed_seq.hpp>
#include <cstdint>
#include <span>
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

// Random bits in bulk, for whoever takes millions at a time: streams of xoshiro256++ (Blackman and Vigna, ACM
// Transactions on Mathematical Software 47, 2021) side by side, which a compiler makes vector instructions
// of.
class BulkRng {
 public:
  static constexpr std::size_t streams = 4;

  explicit BulkRng(Rng seeds) {
    for (auto& word : state_)
      for (std::uint64_t& stream : word) stream = seeds();
  }

  void fill(std::span<std::uint64_t> words) {  // a multiple of `streams`; the rest of others stays as it was
    auto [a, b, c, d] = state_;
    for (std::size_t at = 0; at + streams <= words.size(); at += streams)
      for (std::size_t i = 0; i < streams; ++i) {
        words[at + i] = std::rotl(a[i] + d[i], 23) + a[i];
        const std::uint64_t shifted = b[i] << 17;
        c[i] ^= a[i];
        d[i] ^= b[i];
        b[i] ^= c[i];
        a[i] ^= d[i];
        c[i] ^= shifted;
        d[i] = std::rotl(d[i], 45);
      }
    state_ = {a, b, c, d};
  }

 private:
  std::array<std::array<std::uint64_t, streams>, 4> state_;
};

}  // namespace weir
