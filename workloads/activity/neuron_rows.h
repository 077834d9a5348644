#pragma once
// Values of all neurons of a model, one behind the other: a layer's attention, its mlp, the next layer's.
// The sources of this room keep what they know of a neuron in vectors of this order.
#include <span>
#include <stdexcept>

#include "workloads/activity/activity.h"

namespace weir {

class NeuronRows {
 public:
  explicit NeuronRows(const NeuronCounts& counts) : counts_(counts) {}

  const NeuronCounts& counts() const { return counts_; }
  std::size_t size() const { return static_cast<std::size_t>(counts_.layers) * layer_size(); }

  // The part of `all` that is the block's; of a const vector it is const.
  template <class Values>
  auto row(Values& all, std::int64_t layer, NeuronBlock block) const {
    if (layer < 0 || layer >= counts_.layers) throw std::out_of_range("no such layer of neurons");
    const std::size_t before = block == NeuronBlock::mlp ? static_cast<std::size_t>(counts_.attention) : 0;
    return std::span(all).subspan(static_cast<std::size_t>(layer) * layer_size() + before,
                                  static_cast<std::size_t>(counts_.of(block)));
  }

 private:
  std::size_t layer_size() const { return static_cast<std::size_t>(counts_.attention + counts_.mlp); }

  NeuronCounts counts_;
};

// Neighbours are 0 and 1, 2 and 3 and so on; the last of an odd number has the one before it, and the only
// one itself.
inline std::int64_t neighbour(std::int64_t neuron, std::int64_t neurons) {
  const std::int64_t other = neuron ^ 1;
  return other < neurons ? other : std::max<std::int64_t>(neuron - 1, 0);
}

}  // namespace weir
