#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

double gemm_bytes(const Operator& op) {
  const std::int64_t matrices = op.kind == OperatorKind::grouped_gemm ? op.experts : 1;
  const std::int64_t elements = matrices * op.in_features * op.out_features;  // 0 where it is no GEMM
  return static_cast<double>(elements) * bytes_per_element(op.weights);
}

// Norms and biases of a part's layers. The biases of sums over the ranks (o_proj, down_proj) are on every
// rank, as norms are.
std::int64_t small_elements(const Architecture& m, const Part& part) {
  std::int64_t layers = 0, biases = 0;
  for (const auto v : boost::make_iterator_range(boost::vertices(part.operators))) {
    const Operator& op = part.operators[v];
    layers += op.kind == OperatorKind::attention;
    if (m.qkv_bias && op.name == "qkv_proj") biases += op.out_features;
    if (m.mlp_bias && m.moe.experts == 0 && op.name == "gate_up_proj") biases += op.out_features;
  }
  std::int64_t of_a_layer = m.block_norms * m.norm_elements();
  if (m.qk_norm) of_a_layer += 2 * m.head_dim;
  if (m.o_bias) of_a_layer += m.hidden;
  if (m.mlp_bias && m.moe.experts == 0) of_a_layer += m.hidden;
  return part.times * (layers * of_a_layer + biases);
}

}  // namespace

// A tied embedding is on the first stage and, for the LM head, on the last; once where they are one.
Bytes weight_bytes(const Architecture& model, const Precision& precision, const Sharding& sharding,
                   int stage) {
  const StageGraph graph = build_stage(model, precision, sharding, stage);
  const bool first = stage == 0, last = stage == sharding.pipeline - 1;
  const std::int64_t vocabulary = padded_vocabulary(model, sharding) / sharding.tensor;
  std::int64_t unquantised = 0;
  for (const Part& part : graph.parts) unquantised += small_elements(model, part);
  double bytes = 0;
  const bool shared_head = first && last && model.tied_embeddings;
  for_each_operator(graph, [&](const Operator& op, double times) {
    if (!(shared_head && op.name == "lm_head")) bytes += times * gemm_bytes(op);
  });
  if (first) unquantised += (vocabulary + model.learned_positions) * model.hidden;
  if (last) unquantised += model.norm_elements() + (model.lm_head_bias ? vocabulary : 0);
  return Bytes(bytes + static_cast<double>(unquantised) * bytes_per_element(precision.unquantised_weights()));
}

Bytes kv_bytes_per_token(const Architecture& model, const Precision& precision, const Sharding& sharding,
                         int stage) {
  const std::int64_t heads = heads_of_rank(model, sharding).kv;
  const std::int64_t elements = 2 * stage_layers(model, sharding, stage) * heads * model.head_dim;
  return Bytes(static_cast<double>(elements) * bytes_per_element(precision.kv_cache));
}

Flops flops_per_token(const Architecture& model, std::int64_t context) {
  const MixtureOfExperts& moe = model.moe;
  const double width = static_cast<double>(model.query_heads * model.head_dim);
  double weights = static_cast<double>(model.hidden) *
                   (2 * width + 2. * static_cast<double>(model.kv_heads * model.head_dim));
  if (moe.experts > 0)
    weights +=
        static_cast<double>(model.hidden * (moe.experts + (moe.shared_gate ? 1 : 0) +
                                            3 * (moe.active * moe.intermediate + moe.shared_intermediate)));
  else
    weights += static_cast<double>(model.hidden * model.intermediate * (model.gated_mlp ? 3 : 2));
  const double attention = 2 * width * static_cast<double>(context);  // multiply-adds of Q K^T, then of A V
  const double block = weights + attention;
  return Flops(
      2 * (static_cast<double>(model.layers) * block + static_cast<double>(model.vocabulary * model.hidden)));
}

}  // namespace weir
