#include "models/llm/architecture.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir {
namespace {

std::int64_t mlp_parameters(const Architecture& m, const LayerKind& layer, std::int64_t experts) {
  if (!layer.has_mlp()) return 0;
  if (layer.moe.experts == 0) {
    const std::int64_t up = layer.intermediate * (m.gated_mlp ? 2 : 1);
    return m.hidden * (up + layer.intermediate) + (m.mlp_bias ? up + m.hidden : 0);
  }
  const std::int64_t router = m.hidden * (layer.moe.experts + (layer.moe.shared_gate ? 1 : 0));
  const std::int64_t matrices = m.gated_mlp ? 3 : 2,
                     width = layer.moe.latent > 0 ? layer.moe.latent : m.hidden;
  const std::int64_t biases =
      layer.moe.bias ? experts * ((matrices - 1) * layer.moe.intermediate + width) : 0;
  const std::int64_t of_router =
      (layer.moe.bias ? layer.moe.experts : 0) + (layer.moe.routing_bias ? layer.moe.experts : 0);
  return router + of_router + biases + 2 * m.hidden * layer.moe.latent +
         matrices * (width * experts * layer.moe.intermediate + m.hidden * layer.moe.shared_intermediate);
}

std::int64_t parameters_with(const Architecture& m, std::int64_t MixtureOfExperts::*experts) {
  const std::int64_t embeddings =
      (m.vocabulary * (m.tied_embeddings ? 1 : 2) + m.learned_positions) * m.hidden;
  std::int64_t sum =
      embeddings + (m.embedding_norm ? 2 : 1) * m.norm_elements() + (m.lm_head_bias ? m.vocabulary : 0);
  for (const LayerKind& layer : m.layers)
    sum += attention_parameters(layer.attention, m.hidden) + mlp_parameters(m, layer, layer.moe.*experts) +
           m.norms_of(layer) * m.norm_elements();
  return sum;
}

}  // namespace

// A layer that lacks attention or MLP lacks its norms.
std::int64_t Architecture::norms_of(const LayerKind& layer) const {
  if (layer.has_attention() && layer.has_mlp()) return block_norms;
  return layer.has_attention() || layer.has_mlp() ? (block_norms + 1) / 2 : 0;
}

std::vector<LayerKind> Architecture::layer_kinds() const {
  std::vector<LayerKind> kinds;
  for (const LayerKind& layer : layers)
    if (std::ranges::find(kinds, layer) == kinds.end()) kinds.push_back(layer);
  return kinds;
}

std::int64_t Architecture::most(std::int64_t (*of)(const LayerKind&)) const {
  std::int64_t most = 0;
  for (const LayerKind& layer : layers) most = std::max(most, of(layer));
  return most;
}

std::int64_t Architecture::most_experts() const {
  return most([](const LayerKind& layer) { return layer.moe.experts; });
}

HeadCounts Architecture::most_heads() const {
  HeadCounts most;
  for (const LayerKind& layer : layers) {
    const HeadCounts heads = heads_of(layer.attention);
    most = {std::max(most.query, heads.query), std::max(most.kv, heads.kv), std::max(most.dim, heads.dim)};
  }
  return most;
}

std::int64_t Architecture::kv_elements_per_token() const {
  std::int64_t sum = 0;
  for (const LayerKind& layer : layers) sum += kv_elements(layer.attention);
  return sum;
}

std::int64_t Architecture::parameters() const {
  return parameters_with(*this, &MixtureOfExperts::experts);
}

std::int64_t Architecture::active_parameters() const {
  return parameters_with(*this, &MixtureOfExperts::active);
}

}  // namespace weir
