#pragma once
// The two blocks of neurons that a layer has (Hermes, Section II). One of the attention block is an input of
// QKV with its column of all three matrices, one of the MLP is a row of FC1 (and of gate and up) with its
// column of FC2; so there are hidden_size and intermediate_size of them. Workloads say which are active,
// policies where each one is.
#include <array>
#include <cstdint>

namespace weir {

enum class NeuronBlock { attention, mlp };
inline constexpr NeuronBlock neuron_blocks[] = {NeuronBlock::attention, NeuronBlock::mlp};

template <class T>
struct PerBlock {
  T attention, mlp;
  T& operator[](NeuronBlock block) { return block == NeuronBlock::attention ? attention : mlp; }
  const T& operator[](NeuronBlock block) const { return block == NeuronBlock::attention ? attention : mlp; }
  bool operator==(const PerBlock&) const = default;
};

// The two neurons of the same block of the layer before that tell most of a neuron, the more correlated one
// first.
using NeuronParents = std::array<std::int32_t, 2>;

}  // namespace weir
