#pragma once
// Neurons of a block for which something holds, for the policies that go over millions of them a token.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weir {

// In ascending order, of 0 to count - 1. The predicate goes over 64 at a time, which is vectorised where it
// is made of & and comparisons; those that hold are then bits in words, so that the others take no branch.
template <class Predicate>
std::vector<std::uint32_t> indices_where(std::size_t count, const Predicate& holds) {
  static_assert(std::endian::native == std::endian::little);  // the lowest byte of a word is the first
  std::vector<std::uint32_t> indices(count);
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < count; begin += 64) {
    std::array<std::uint8_t, 64> flags{};
    if (count - begin >= flags.size())
      for (std::size_t k = 0; k < flags.size(); ++k) flags[k] = static_cast<std::uint8_t>(holds(begin + k));
    else
      for (std::size_t k = 0; k < count - begin; ++k) flags[k] = static_cast<std::uint8_t>(holds(begin + k));
    for (std::size_t first = 0; first < flags.size(); first += 8) {
      std::uint64_t word;
      std::memcpy(&word, &flags[first], sizeof word);
      for (; word != 0; word &= word - 1)
        indices[found++] = static_cast<std::uint32_t>(begin + first) +
                           static_cast<std::uint32_t>(std::countr_zero(word)) / 8;
    }
  }
  indices.resize(found);
  return indices;
}

}  // namespace weir
