#pragma once
// A kernel of sparse activations: the matrices of a layer's active neurons alone.
#include <cstdint>
#include <vector>

#include "models/machine/kernel.h"

namespace weir {

// Matrices of `width` elements a neuron, of which a token needs those of its active neurons: `before` of them
// find out whether it is active (FC1, gate), `behind` take what it yields (FC2; Q, K and V, whose inputs are
// known to be active).
struct Neurons {
  std::int64_t width = 0, before = 0, behind = 0;
  StoredType weights = DataType::bf16;
  DataType activations = DataType::bf16, outputs = DataType::bf16;
  bool operator==(const Neurons&) const = default;
};
Bytes bytes_per_neuron(const Neurons& neurons);

inline constexpr KernelKind neurons_kind = custom_kind("neurons");
inline KernelKind kind_of(const Neurons&) {
  return neurons_kind;
}
inline DataType calculates_in(const Neurons& neurons) {
  return neurons.activations;
}
// The matrices before the active neurons of a unit of one member, and the one behind: gathered, they are as
// wide as these are many. Each row of a batch uses every neuron that one of them uses.
std::vector<PlainKernel> plain_kernels(const Neurons& neurons, const KernelWork& work);

}  // namespace weir
