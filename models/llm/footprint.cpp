#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/stage.h"

namespace weir {
namespace {

double gemm_bytes(const Operator& op) {
  return stored_bytes(lowered(op, {})).value();
}

// A rank's share of a layer's attention: its heads, and all else that every rank has.
HeadAttention on_rank(HeadAttention a, const Sharding& sharding) {
  const HeadCounts heads = heads_of_rank(heads_of(a), sharding);
  a.query_heads = heads.query;
  a.kv_heads = heads.kv;
  return a;
}

AttentionKind on_rank(const AttentionKind& kind, const Sharding& sharding) {
  return std::visit([&](const auto& a) -> AttentionKind { return on_rank(a, sharding); }, kind);
}

// Norms and biases of a layer, on one rank. The biases of sums over the ranks (o_proj, down_proj) are on
// every rank, as norms are.
std::int64_t small_elements(const Architecture& m, const Sharding& sharding, const LayerKind& layer) {
  std::int64_t elements = m.block_norms * m.norm_elements();
  elements += small_parameters(on_rank(layer.attention, sharding), m.hidden);
  if (m.mlp_bias && layer.moe.experts == 0)
    elements += layer.intermediate / sharding.tensor * (m.gated_mlp ? 2 : 1) + m.hidden;
  return elements;
}

}  // namespace

// A tied embedding is on the first stage and, for the LM head, on the last; once where they are one.
Bytes weights_of(const StageGraph& graph, const Architecture& model, const Precision& precision,
                 const Sharding& sharding, int stage) {
  const bool first = stage == 0, last = stage == sharding.pipeline - 1;
  const std::int64_t vocabulary = padded_vocabulary(model, sharding) / sharding.tensor;
  std::int64_t unquantised = 0;
  for (const LayerKind& layer : layers_of_stage(model, sharding, stage))
    unquantised += small_elements(model, sharding, layer);
  double bytes = 0;
  const bool shared_head = first && last && model.tied_embeddings;
  for_each_operator(graph, [&](const Operator& op, double times) {
    if (!(shared_head && op.name == "lm_head")) bytes += times * gemm_bytes(op);
  });
  if (first) unquantised += (vocabulary + model.learned_positions) * model.hidden;
  if (last) unquantised += model.norm_elements() + (model.lm_head_bias ? vocabulary : 0);
  return Bytes(bytes + static_cast<double>(unquantised) * bytes_per_element(precision.unquantised_weights()));
}

Bytes weight_bytes(const Architecture& model, const Precision& precision, const Sharding& sharding,
                   int stage) {
  return build_stage(model, precision, sharding, stage).weights.all;
}

Bytes kv_bytes_per_token(const Architecture& model, const Precision& precision, const Sharding& sharding,
                         int stage) {
  std::int64_t elements = 0;
  for (const LayerKind& layer : layers_of_stage(model, sharding, stage))
    elements += kv_elements(on_rank(layer.attention, sharding));
  return Bytes(static_cast<double>(elements) * bytes_per_element(precision.kv_cache));
}

Flops flops_per_token(const Architecture& model, std::int64_t context) {
  double sum = static_cast<double>(model.vocabulary * model.hidden);
  for (const auto& [intermediate, moe, attention] : model.layers) {
    const std::int64_t mlp = moe.experts > 0
                                 ? moe.experts + (moe.shared_gate ? 1 : 0) +
                                       3 * (moe.active * moe.intermediate + moe.shared_intermediate)
                                 : intermediate * (model.gated_mlp ? 3 : 2);
    sum += projection_work(attention, model.hidden) + static_cast<double>(model.hidden * mlp) +
           attending_work(attention, context);
  }
  return Flops(2 * sum);
}

}  // namespace weir
