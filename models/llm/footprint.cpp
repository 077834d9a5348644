#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/stage.h"

namespace weir {
namespace {

double gemm_bytes(const Operator& op) {
  return stored_bytes(lowered(op, {})).value();
}

// Norms and biases of a layer, on one rank. The biases of sums over the ranks (o_proj, down_proj) are on
// every rank, as norms are.
std::int64_t small_elements(const Architecture& m, const Sharding& sharding, const LayerKind& layer) {
  const Heads heads = heads_of_rank(m, sharding);
  std::int64_t elements = m.block_norms * m.norm_elements();
  if (m.qk_norm) elements += 2 * m.head_dim;
  if (m.qkv_bias) elements += (heads.query + 2 * heads.kv) * m.head_dim;
  if (m.o_bias) elements += m.hidden;
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
  const std::int64_t heads = heads_of_rank(model, sharding).kv;
  const std::int64_t elements = 2 * stage_layers(model, sharding, stage) * heads * model.head_dim;
  return Bytes(static_cast<double>(elements) * bytes_per_element(precision.kv_cache));
}

Flops flops_per_token(const Architecture& model, std::int64_t context) {
  const double width = static_cast<double>(model.query_heads * model.head_dim);
  const double projections = static_cast<double>(model.hidden) *
                             (2 * width + 2. * static_cast<double>(model.kv_heads * model.head_dim));
  const double attention = 2 * width * static_cast<double>(context);  // multiply-adds of Q K^T, then of A V
  double sum = static_cast<double>(model.vocabulary * model.hidden);
  for (const auto& [intermediate, moe] : model.layers) {
    const std::int64_t mlp = moe.experts > 0
                                 ? moe.experts + (moe.shared_gate ? 1 : 0) +
                                       3 * (moe.active * moe.intermediate + moe.shared_intermediate)
                                 : intermediate * (model.gated_mlp ? 3 : 2);
    sum += projections + static_cast<double>(model.hidden * mlp) + attention;
  }
  return Flops(2 * sum);
}

}  // namespace weir
