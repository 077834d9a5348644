#pragma once
// The parts from which build_stage makes a rank's graph; shared by stage.cpp, attention_operators.cpp and its
// kin, moe.cpp and footprint.cpp, used by nobody else.
#include <initializer_list>
#include <utility>

#include "models/llm/operator_graph.h"

namespace weir {

using Vertex = OperatorGraph::vertex_descriptor;

inline Vertex append(OperatorGraph& graph, Operator op, std::initializer_list<Vertex> inputs) {
  const Vertex v = boost::add_vertex(graph);
  graph[v] = std::move(op);
  for (const Vertex input : inputs) boost::add_edge(input, v, graph);
  return v;
}

// Makes one rank's operators from sizes; knows which types they work in.
struct OperatorMaker {
  const Architecture& model;
  const LayerKind& layer;
  const Precision& precision;
  const Sharding& sharding;

  MatrixTypes types_of(MatrixGroup group) const { return precision.of(group, layer.wide); }
  Operator gemm(MatrixGroup group, const char* name, std::int64_t in, std::int64_t out) const;
  // A GEMM whose weights and input are not quantised: a router.
  Operator unquantised_gemm(const char* name, std::int64_t in, std::int64_t out) const;
  // `elements` of the hidden type read or written a row.
  Operator elementwise(const char* name, double elements) const;
  // Adds up the hidden state over the tensor group.
  Operator all_reduce() const;
};

// Bytes of all that `graph`, the rank's whole stage, reads of the model.
Bytes weights_of(const StageGraph& graph, const Architecture& model, const Precision& precision,
                 const Sharding& sharding, int stage);

// The layer's attention behind the norm at `input`, up to its output before the all-reduce.
Vertex append_attention(OperatorGraph& graph, const OperatorMaker& make, Vertex input);
// The same of one kind, of which `a` is the rank's share.
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const HeadAttention& a,
                             Vertex input);
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const LatentAttention& a,
                             Vertex input);
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const LinearAttention& a,
                             Vertex input);
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const StateSpace& a,
                             Vertex input);
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const HybridAttention& a,
                             Vertex input);
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const NoAttention& a,
                             Vertex input);
// The MLP of a mixture of experts behind the norm at `input`, up to its output before the all-reduce.
Vertex append_experts(OperatorGraph& graph, const OperatorMaker& make, Vertex input);
// A dense MLP or a shared expert of this width (of the whole model), likewise.
Vertex append_mlp(OperatorGraph& graph, const OperatorMaker& make, MatrixGroup group,
                  std::int64_t intermediate, bool gated, Vertex input);

}  // namespace weir
