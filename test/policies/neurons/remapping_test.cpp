// Laws of remapping between DIMMs, and Algorithm 1 done naively.
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "policies/placement/neurons/online/remapping.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

struct DimmBlock {
  std::vector<std::uint16_t> activations;
  std::vector<std::uint8_t> on_gpu, dimm;
  Bytes neuron{3};
  std::vector<Bytes> free;
  Bytes budget;

  RemappableBlock view() const { return {activations, on_gpu, dimm, neuron, free, budget}; }
  std::vector<std::int64_t> loads() const {
    std::vector<std::int64_t> sums(free.size());
    for (std::size_t i = 0; i < dimm.size(); ++i)
      if (!on_gpu[i]) sums[dimm[i]] += activations[i];
    return sums;
  }
  void apply(const NeuronMove& move) {
    REQUIRE(dimm.at(move.neuron) == move.from);
    dimm[move.neuron] = move.to;
    free.at(move.from) += neuron;
    free.at(move.to) -= neuron;
  }
};

DimmBlock random_block(Dice& dice, int most_activity) {
  DimmBlock block;
  const auto dimms = dice(1, 9);
  for (auto left = dimms; left > 0; --left) block.free.emplace_back(static_cast<double>(dice(0, 60)));
  block.budget = Bytes(static_cast<double>(dice(0, 60)));
  for (auto left = dice(0, 150); left > 0; --left) {
    block.activations.push_back(static_cast<std::uint16_t>(dice(0, most_activity)));
    block.on_gpu.push_back(dice(0, 9) == 0);
    block.dimm.push_back(static_cast<std::uint8_t>(std::min(dice(0, dimms - 1), dice(0, dimms - 1))));
  }
  return block;
}

// Algorithm 1 with its loop test turned round, its partner J-1-id and both limits: one neuron after another.
DimmBlock naively_remapped(DimmBlock block) {
  const std::vector<std::int64_t> first = block.loads();
  std::multimap<std::int64_t, int> order;  // ascending; of equals the higher number first
  for (int j = static_cast<int>(first.size()) - 1; j >= 0; --j)
    order.emplace(first[static_cast<std::size_t>(j)], j);
  std::vector<int> ascending;
  for (const auto& [load, dimm] : order) ascending.push_back(dimm);
  for (std::size_t id = 0; id < first.size() / 2; ++id) {
    const int to = ascending[id], from = ascending[first.size() - 1 - id];
    for (Bytes sent = block.neuron; sent <= block.budget; sent += block.neuron) {
      const std::int64_t gap =
          block.loads()[static_cast<std::size_t>(from)] - block.loads()[static_cast<std::size_t>(to)];
      int best = -1;
      for (std::size_t i = 0; i < block.dimm.size(); ++i) {
        const int activity = block.activations[i];
        if (block.dimm[i] != from || block.on_gpu[i] || std::abs(gap - 2 * activity) >= gap) continue;
        if (best < 0 || activity > block.activations[static_cast<std::size_t>(best)])
          best = static_cast<int>(i);
      }
      if (best < 0 || block.free[static_cast<std::size_t>(to)] < block.neuron) break;
      block.apply(
          {static_cast<std::uint32_t>(best), static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)});
    }
  }
  return block;
}

}  // namespace

TEST_CASE("neuron remapping: no pair's gap widens, no move beyond link or room, and no neuron is lost",
          "[neurons]") {
  std::size_t all_moves = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Dice dice(seed);
    DimmBlock block = random_block(dice, seed % 2 ? 5 : 80);  // a window of one sequence, of sixteen
    const std::vector<NeuronMove> moves = remapped(block.view());
    std::map<int, int> partner;
    std::map<int, Bytes> sent;
    INFO("seed " << seed);
    for (const NeuronMove& move : moves) {
      REQUIRE(partner.emplace(move.from, move.to).first->second == move.to);
      REQUIRE_FALSE(partner.contains(move.to));  // each is in one pair, and sends or receives
      REQUIRE((!block.on_gpu[move.neuron] && block.activations[move.neuron] > 0));
      const auto before = block.loads();
      block.apply(move);
      const auto loads = block.loads();
      REQUIRE(std::abs(loads[move.from] - loads[move.to]) < before[move.from] - before[move.to]);
      REQUIRE(std::ranges::max(loads) <= std::ranges::max(before));
      REQUIRE(std::accumulate(loads.begin(), loads.end(), 0L) ==
              std::accumulate(before.begin(), before.end(), 0L));
      sent[move.from] += block.neuron;
      REQUIRE(sent[move.from] <= block.budget);
      REQUIRE(block.free[move.to] >= Bytes());
    }
    all_moves += moves.size();
  }
  CHECK(all_moves > 2000);
}

TEST_CASE("neuron remapping: it is Algorithm 1 as it is meant, done naively", "[neurons]") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    DimmBlock block = random_block(dice, 5);
    const DimmBlock naive = naively_remapped(block);
    for (const NeuronMove& move : remapped(block.view())) block.apply(move);
    INFO("seed " << seed);
    REQUIRE(block.dimm == naive.dimm);
  }
}

TEST_CASE("neuron remapping: what is even already stays, and with room and link enough pairs become even",
          "[neurons]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    DimmBlock block = random_block(dice, 5);
    block.budget = Bytes(1e9);
    for (Bytes& free : block.free) free = Bytes(1e9);
    const auto before = block.loads();
    const auto moves = remapped(block.view());
    for (const NeuronMove& move : moves) block.apply(move);
    const auto loads = block.loads();
    INFO("seed " << seed);
    if (std::ranges::max(before) - std::ranges::min(before) <= 1) REQUIRE(moves.empty());
    for (const NeuronMove& move : moves)  // another would be as active as half of the gap, at least
      for (std::size_t i = 0; i < block.dimm.size(); ++i)
        if (block.dimm[i] == move.from && !block.on_gpu[i] && block.activations[i] > 0)
          REQUIRE(block.activations[i] >= loads[move.from] - loads[move.to]);
  }
}

TEST_CASE("neuron remapping: Figure 8's neuron moves from the DIMM with more to the one with fewer",
          "[neurons]") {
  // Two DIMMs of three neurons: 5 + 4 + 3 activations against 2 + 1 + 0. The gap is 9: 5 narrows it to -1,
  // and a window later nothing is gained by moving anything.
  DimmBlock block{{5, 2, 4, 1, 3, 0}, {0, 0, 0, 0, 0, 0},   {0, 1, 0, 1, 0, 1},
                  Bytes(3),           {Bytes(3), Bytes(3)}, Bytes(9)};
  const auto moves = remapped(block.view());
  REQUIRE(moves.size() == 1);
  CHECK((moves[0].neuron == 0 && moves[0].from == 0 && moves[0].to == 1));
  block.apply(moves[0]);
  CHECK(remapped(block.view()).empty());
}
