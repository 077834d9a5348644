#pragma once
// The matrices of a layer as neurons. Policies that compute active ones alone share it.
#include <string>

#include "models/llm/operator_graph.h"
#include "models/neurons/neurons.h"
#include "sim/core/neurons/neuron_block.h"

namespace weir {

// The operators of a layer that are neurons: its first matrices, what lies between them and its last.
inline bool begins_mlp(const Operator& op) {
  return op.name == "gate_up_proj";
}
inline bool is_in_mlp(const Operator& op) {
  return op.name == "act_fn" || op.name == "down_proj";
}
inline bool is_qkv(const Operator& op) {
  return op.name == "qkv_proj";
}
// The dense matrix between both blocks, beside which neurons move.
inline bool is_projection(const Operator& op) {
  return op.name == "o_proj";
}

// A layer has so many neurons of each block, with these matrices.
struct LayerNeurons {
  PerBlock<Neurons> kernels;
  PerBlock<std::int64_t> count;
};

// Throws std::invalid_argument, in the name of the policy, where the stage has no neurons that are alike in
// all layers: experts, layers of several kinds, a share of a layer.
LayerNeurons layer_neurons(const StageGraph& stage, const char* policy);

}  // namespace weir
