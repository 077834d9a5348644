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
  std::int64_t elements = m.norms_of(layer) * m.norm_elements();
  elements += small_parameters(of_rank(layer.attention, sharding), m.hidden);
  if (m.mlp_bias && layer.intermediate > 0)
    elements += layer.intermediate / sharding.tensor * (m.gated_mlp ? 2 : 1) + m.hidden;
  const MixtureOfExperts& moe = layer.moe;
  if (moe.routing_bias) elements += moe.experts;
  if (moe.bias)
    elements +=
        moe.experts + moe.experts / sharding.expert *
                          ((m.gated_mlp ? 2 : 1) * moe.intermediate * sharding.expert / sharding.ranks() +
                           (moe.latent > 0 ? moe.latent : m.hidden));
  return elements;
}

KvBytes kept_by_rank(const Architecture& model, const Precision& precision, const Sharding& sharding,
                     int stage) {
  KvBytes sum;
  for (const LayerKind& layer : layers_of_stage(model, sharding, stage)) {
    const KvBytes one = kv_bytes(of_rank(layer.attention, sharding), precision);
    sum.token += one.token;
    sum.request += one.request;
  }
  return sum;
}

// vLLM keeps kv_b_proj, from which prompts' keys and values come, and W_UK and W_UV, which decodes absorb: of
// 16-bit weights these are views of it, of quantised ones 16-bit copies (vllm/v1/attention/backends/mla/
// common.py, process_weights_after_loading: get_and_maybe_dequant_weights, split, permute). The operators
// read all three.
bool is_view(const Operator& op) {
  const auto* gemm = op.as<Gemm>();
  return op.name == "mla_kv_proj" && gemm && !quantised(gemm->weights);
}

// With an indexer no operator expands keys and values, and vLLM keeps kv_b_proj all the same.
double kept_beside(const LayerKind& layer, const Precision& precision, const Sharding& sharding) {
  const AttentionKind share = of_rank(layer.attention, sharding);
  const auto* latent = std::get_if<LatentAttention>(&share);
  const StoredType stored = precision.of(MatrixGroup::attention, layer.wide).weights;
  if (!latent || latent->top_k == 0 || !quantised(stored)) return 0;
  return static_cast<double>(latent->kv_rank * latent->heads * (latent->nope_dim + latent->value_dim)) *
         bytes_per_element(stored);
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
    if (!(shared_head && op.name == "lm_head") && !is_view(op)) bytes += times * gemm_bytes(op);
  });
  for (const LayerKind& layer : layers_of_stage(model, sharding, stage))
    bytes += kept_beside(layer, precision, sharding);
  if (first)
    bytes += static_cast<double>(vocabulary * model.hidden) *
             bytes_per_element(precision.of(MatrixGroup::embedding).weights);
  if (first)
    unquantised +=
        model.learned_positions * model.hidden + (model.embedding_norm ? model.norm_elements() : 0);
  if (last) unquantised += model.norm_elements() + (model.lm_head_bias ? vocabulary : 0);
  return Bytes(bytes + static_cast<double>(unquantised) * bytes_per_element(precision.unquantised_weights()));
}

Bytes weight_bytes(const Architecture& model, const Precision& precision, const Sharding& sharding,
                   int stage) {
  return build_stage(model, precision, sharding, stage).weights.all;
}

// An expert's biases are left out: they are a thousandth of its three matrices.
Bytes padding_bytes(const StageGraph& stage, const ExpertPadding& padding) {
  double bytes = 0;
  for_each_operator(stage, [&](const Operator& op, double times) {
    const auto* experts = op.as<GroupedGemm>();
    if (!experts || op.name != "moe_down" || experts->each.weights.number != DataType::mxfp4) return;
    const std::int64_t width = experts->each.in, hidden = experts->each.out;
    const std::int64_t more = padding.padded_hidden(hidden) * padding.padded_width(width) - hidden * width;
    bytes += times * static_cast<double>(experts->here * 3 * more) * bytes_per_element(experts->each.weights);
  });
  return Bytes(bytes);
}

KvBytes kv_bytes(const AttentionKind& kind, const Precision& precision) {
  const Kept all = kept(kind);
  const double element = bytes_per_element(precision.kv_cache);
  return {Bytes(static_cast<double>(all.token) * element + static_cast<double>(all.token_bytes)),
          Bytes(static_cast<double>(all.request) * element + static_cast<double>(all.request_bytes))};
}

Bytes kv_bytes_per_token(const Architecture& model, const Precision& precision, const Sharding& sharding,
                         int stage) {
  return kept_by_rank(model, precision, sharding, stage).token;
}

Bytes kv_bytes_per_request(const Architecture& model, const Precision& precision, const Sharding& sharding,
                           int stage) {
  return kept_by_rank(model, precision, sharding, stage).request;
}

Flops flops_per_token(const Architecture& model, std::int64_t context) {
  double sum = static_cast<double>(model.vocabulary * model.hidden);
  for (const auto& [intermediate, moe, attention, wide] : model.layers) {
    const std::int64_t matrices = model.gated_mlp ? 3 : 2;
    const std::int64_t width = moe.latent > 0 ? moe.latent : model.hidden;
    const std::int64_t routed =
        matrices * width * moe.active * moe.intermediate + 2 * model.hidden * moe.latent;
    const std::int64_t all_tokens =
        moe.experts > 0 ? moe.experts + (moe.shared_gate ? 1 : 0) + matrices * moe.shared_intermediate
                        : matrices * intermediate;
    sum += projection_work(attention, model.hidden) +
           static_cast<double>(model.hidden * all_tokens + routed) + attending_work(attention, context);
  }
  return Flops(2 * sum);
}

}  // namespace weir
