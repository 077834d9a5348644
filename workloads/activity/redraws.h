#pragma once
// One uniform number a neuron, some of which are drawn anew with every token: the generator compares them
// with frequencies. All that tokens and layers have in common comes from which numbers change, and how:
//   - a token redraws 28 % of the numbers of every layer, so that tokens at a distance d share 0.72^d;
//   - a neuron whose parent (same rank, layer before) was redrawn takes the parent's new number in 80 % of
//     the cases; the rest are free redraws, at the rate that keeps the total at 28 %;
//   - half of the time a neuron's neighbour in rank decides and draws as the neuron does.
// Set to Hermes' Figure 4: similarity above 0.9 of one token with the next and 0.70 from a distance of 10 on,
// and more than 0.9 from a neuron to the one most correlated with it in the next layer. Nothing else in the
// paper says how tokens change. ESTIMATE: the half of the neighbours; the paper's Figure 7 has two parents.
#include <vector>

#include "sim/core/rng.h"
#include "workloads/activity/neuron_rows.h"

namespace weir {

class Redraws {
 public:
  static constexpr double share = 0.28, followed = 0.8;

  Redraws(const NeuronCounts& counts, std::uint64_t seed);

  void next();  // to the next token; the first call gives the first
  // Each stands for a uniform number in steps of 2^-16.
  std::span<const std::uint16_t> numbers(std::int64_t layer, NeuronBlock block) const {
    return rows_.row(numbers_, layer, block);
  }

 private:
  struct Limits;
  void redraw(std::span<std::uint16_t> numbers, std::span<const std::uint16_t> above, const Limits& limits);

  NeuronRows rows_;
  BulkRng rng_;
  bool started_ = false;
  std::vector<std::uint16_t> numbers_;
  std::vector<std::uint16_t> redrawn_;  // all bits or none a neuron, of the layer before and then of this one
};

}  // namespace weir
