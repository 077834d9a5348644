#include "models/llm/stage.h"

namespace weir {
namespace {

Vertex append(OperatorGraph& graph, const OperatorMaker& make, const HeadAttention& a, Vertex input) {
  const std::int64_t hidden = make.model.hidden;
  const HeadCounts heads = heads_of_rank(heads_of(a), make.sharding);
  const std::int64_t both = heads.query + heads.kv;
  Vertex at = append(graph, make.gemm("qkv_proj", hidden, (both + heads.kv) * a.head_dim), {input});
  if (a.qk_norm != QkNorm::none)
    at = append(graph, make.elementwise("qk_norm", 2. * static_cast<double>(both * a.head_dim)), {at});
  if (a.rotary_dim > 0)
    at = append(graph, make.elementwise("rotary_emb", 2. * static_cast<double>(both * a.rotary_dim)), {at});
  at = append(graph,
              {.name = "attention",
               .kernel = Attention{.query_heads = heads.query,
                                   .kv_heads = heads.kv,
                                   .head_dim = a.head_dim,
                                   .activations = make.precision.hidden(),
                                   .kv_cache = make.precision.kv_cache}},
              {at});
  return append(graph, make.gemm("o_proj", heads.query * a.head_dim, hidden), {at});
}

}  // namespace

Vertex append_attention(OperatorGraph& graph, const OperatorMaker& make, Vertex input) {
  return std::visit([&](const auto& kind) { return append(graph, make, kind, input); }, make.layer.attention);
}

}  // namespace weir
