// Heads with keys and values of their own; latent and linear attention have files of their own.
#include "models/llm/stage.h"

namespace weir {
namespace {

// One norm over all heads: each rank adds up the squares of its own, of Q and of K in fp32, and all ranks'
// are added (vLLM, MiniMaxText01RMSNormTP.forward_qk), then the heads are read again.
Vertex append_norm_over_all_heads(OperatorGraph& graph, const OperatorMaker& make, double elements,
                                  Vertex input) {
  const Bytes squares(2 * 4);
  Vertex at = append(graph, make.elementwise("qk_squares", elements), {input});
  at = append(
      graph,
      {.name = "all_reduce", .kernel = Communication{Collective::all_reduce, squares, make.sharding.tensor}},
      {at});
  return append(graph, make.elementwise("qk_norm", 2 * elements), {at});
}

Vertex append_qk_norm(OperatorGraph& graph, const OperatorMaker& make, const HeadAttention& a,
                      double elements, Vertex input) {
  if (a.qk_norm == QkNorm::none) return input;
  if (a.qk_norm == QkNorm::all_heads && make.sharding.tensor > 1)
    return append_norm_over_all_heads(graph, make, elements, input);
  return append(graph, make.elementwise("qk_norm", 2 * elements), {input});
}

}  // namespace

// Sinks are a score a head beside thousands: they have no operator.
Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const HeadAttention& a,
                             Vertex input) {
  const std::int64_t hidden = make.model.hidden;
  const std::int64_t both = a.query_heads + a.kv_heads;
  Vertex at = append(graph, make.gemm(MatrixGroup::attention, "qkv_proj", hidden, a.projected()), {input});
  at = append_qk_norm(graph, make, a, static_cast<double>(both * a.head_dim), at);
  if (a.rotary_dim > 0)
    at = append(graph, make.elementwise("rotary_emb", 2. * static_cast<double>(both * a.rotary_dim)), {at});
  at = append(graph,
              {.name = "attention",
               .kernel = Attention{.query_heads = a.query_heads,
                                   .kv_heads = a.kv_heads,
                                   .head_dim = a.head_dim,
                                   .activations = make.precision.hidden(),
                                   .kv_cache = make.precision.kv_cache,
                                   .window = a.window}},
              {at});
  if (a.gate() > 0)
    at =
        append(graph, make.elementwise("output_gate", static_cast<double>(2 * a.queries() + a.gate())), {at});
  return append(graph, make.gemm(MatrixGroup::attention, "o_proj", a.queries(), hidden), {at});
}

Vertex append_attention(OperatorGraph& graph, const OperatorMaker& make, Vertex input) {
  return std::visit([&](const auto& kind) { return append_attention_kind(graph, make, kind, input); },
                    of_rank(make.layer.attention, make.sharding));
}

}  // namespace weir
