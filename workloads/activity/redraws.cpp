#include "workloads/activity/redraws.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weir {

// A neuron has one random number of sixteen bits to decide by, and does a thing where that is not above the
// limit. Limits are odd, since the lowest bit says whether the neighbour does alike.
struct Redraws::Limits {
  std::uint16_t free;      // redrawn though the parent was not, or there is none
  std::uint16_t followed;  // takes the number of a redrawn parent
  std::uint16_t beside;    // takes it, or is redrawn freely though the parent was redrawn
};

namespace {

constexpr std::size_t chunk = 2048;  // of neurons: their random bits stay in the first cache

constexpr std::uint16_t limit_of(double probability) {  // above 2^-15
  return static_cast<std::uint16_t>(2 * static_cast<std::uint32_t>(probability * 32768 + 0.5) - 1);
}

// Free redraws where the parent was not followed: share = share * followed + (1 - share * followed) * free.
constexpr double free_share =
    Redraws::share * (1 - Redraws::followed) / (1 - Redraws::share * Redraws::followed);

// How many neurons have their parent's number in the long run: those that took it with this token, and those
// that had it already where neither was redrawn.
constexpr double equal_share =
    Redraws::share * Redraws::followed / (1 - (1 - Redraws::share) * (1 - free_share));

// The numbers of a chunk that its neurons decide by, and those that they may take.
struct Draws {
  alignas(16) std::array<std::uint16_t, chunk> decisions, values;
};

// Two numbers of sixteen bits in a word: the upper becomes the lower where `together` has all bits.
std::uint32_t shared(std::uint32_t pair, std::uint32_t together) {
  const std::uint32_t alike = (pair & 0xffff) * 0x10001;
  return pair ^ ((pair ^ alike) & together);
}

void draw(BulkRng& rng, Draws& draws) {
  std::array<std::uint64_t, chunk / 2> bits;
  rng.fill(bits);
  std::array<std::uint32_t, chunk / 2> decisions, values;
  std::memcpy(decisions.data(), bits.data(), sizeof decisions);
  std::memcpy(values.data(), bits.data() + chunk / 4, sizeof values);
  for (std::size_t pair = 0; pair < chunk / 2; ++pair) {
    const std::uint32_t together = 0 - (decisions[pair] & 1);
    decisions[pair] = shared(decisions[pair], together);
    values[pair] = shared(values[pair], together);
  }
  std::memcpy(draws.decisions.data(), decisions.data(), sizeof decisions);
  std::memcpy(draws.values.data(), values.data(), sizeof values);
}

std::uint16_t mask(bool holds) {
  return static_cast<std::uint16_t>(holds ? 0xffff : 0);
}

}  // namespace

Redraws::Redraws(const NeuronCounts& counts, std::uint64_t seed)
    : rows_(counts),
      rng_(random_stream(seed, "neuron activity")),
      numbers_(rows_.size()),
      redrawn_(static_cast<std::size_t>(std::max(counts.attention, counts.mlp))) {}

void Redraws::next() {
  // The first token draws all numbers, each its parent's or its own as often as in the long run. Neighbours
  // then have the same more often than later (0.50 for 0.37); that is gone within five tokens.
  static constexpr Limits first{0xffff, limit_of(equal_share), 0xffff};
  static constexpr Limits later{limit_of(free_share), limit_of(followed),
                                limit_of(followed + (1 - followed) * free_share)};
  static constexpr Limits later_at_the_top{limit_of(share), 0, 0};
  for (const NeuronBlock block : neuron_blocks) {
    std::ranges::fill(redrawn_, std::uint16_t{0});
    for (std::int64_t layer = 0; layer < rows_.counts().layers; ++layer) {
      const auto numbers = rows_.row(numbers_, layer, block);
      const auto above = layer > 0 ? rows_.row(numbers_, layer - 1, block) : numbers;
      redraw(numbers, above, !started_ ? first : layer > 0 ? later : later_at_the_top);
    }
  }
  started_ = true;
}

void Redraws::redraw(std::span<std::uint16_t> numbers, std::span<const std::uint16_t> above,
                     const Limits& limits) {
  Draws draws;
  for (std::size_t begin = 0; begin < numbers.size(); begin += chunk) {
    draw(rng_, draws);
    const std::size_t size = std::min(chunk, numbers.size() - begin);
    std::uint16_t* const own = numbers.data() + begin;
    const std::uint16_t* const parents = above.data() + begin;
    std::uint16_t* const redrawn = redrawn_.data() + begin;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint16_t decision = draws.decisions[i], parent_redrawn = redrawn[i];
      const auto follows = static_cast<std::uint16_t>(parent_redrawn & mask(decision <= limits.followed));
      const auto limit =
          static_cast<std::uint16_t>((parent_redrawn & limits.beside) | (~parent_redrawn & limits.free));
      const std::uint16_t moves = mask(decision <= limit);
      const auto fresh = static_cast<std::uint16_t>((parents[i] & follows) | (draws.values[i] & ~follows));
      own[i] = static_cast<std::uint16_t>((fresh & moves) | (own[i] & ~moves));
      redrawn[i] = moves;
    }
  }
}

}  // namespace weir
