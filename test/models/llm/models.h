#pragma once
// What the tests of models/llm run over: every model of the catalog, random ones, and every way to cut them.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "models/llm/operator_graph.h"

namespace weir {

inline Architecture catalog_model(const std::string& name) {
  Reading reading("test.json");
  Architecture m = find_architecture(name, reading, "/model");
  reading.finish();
  return m;
}

inline std::vector<Architecture> catalog_models() {
  std::vector<Architecture> models;
  for (const std::string& name : architecture_names()) models.push_back(catalog_model(name));
  return models;
}

// Any combination of the features, at sizes that are cut into 1, 2, 3, 4 and 6.
inline Architecture random_model(std::mt19937& random) {
  auto up_to = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(1, n)(random); };
  auto coin = [&] { return up_to(2) == 1; };
  Architecture m;
  m.name = "random";
  const std::int64_t layers = up_to(9);
  m.hidden = 8 * up_to(20);
  HeadAttention heads;
  heads.kv_heads = up_to(6);
  heads.query_heads = heads.kv_heads * up_to(6);
  heads.head_dim = 2 * up_to(8);
  LayerKind layer{.intermediate = 12 * up_to(20), .moe = {}};
  m.gated_mlp = coin();
  const LayerKind dense = layer;
  if (coin()) layer = {0, {12 * up_to(3), up_to(4), 12 * up_to(4), coin() ? 12 * up_to(4) : 0, coin()}};
  if (layer.moe.shared_intermediate == 0) layer.moe.shared_gate = false;
  if (layer.moe.experts > 0) layer.moe.bias = coin(), layer.moe.routing_bias = coin();
  const std::int64_t period = up_to(3);  // experts in every layer, or in every second or third
  for (std::int64_t i = 1; i <= layers; ++i) m.layers.push_back(i % period == 0 ? layer : dense);
  m.vocabulary = up_to(5000);
  m.tied_embeddings = coin();
  heads.qkv_bias = coin();
  heads.o_bias = coin();
  m.mlp_bias = coin();
  m.lm_head_bias = coin();
  heads.qk_norm = coin() ? QkNorm::each_head : QkNorm::none;
  if (heads.qk_norm != QkNorm::none && coin()) heads.qk_norm = QkNorm::all_heads;
  heads.output_gate = coin() ? OutputGate::none : coin() ? OutputGate::each_head : OutputGate::each_element;
  heads.one_key_and_value = coin();
  heads.sinks = coin();
  if (coin())
    heads.rotary_dim = heads.head_dim;
  else
    m.learned_positions = up_to(100);
  m.norm_vectors = up_to(3) - 1;
  m.parallel_block = coin();
  m.block_norms = m.parallel_block ? up_to(2) : coin() ? 4 : 2;
  m.embedding_norm = coin();
  // Nobody has both: the all-reduce of the norm would run beside the MLP.
  if (m.parallel_block && heads.qk_norm == QkNorm::all_heads) heads.qk_norm = QkNorm::each_head;
  m.positions = 100;
  LatentAttention latent{.heads = 12 * up_to(3),
                         .q_rank = 8 * up_to(5),
                         .kv_rank = 8 * up_to(5),
                         .rope_dim = 2 * up_to(4),
                         .nope_dim = 2 * up_to(4),
                         .value_dim = 2 * up_to(4)};
  if (coin()) latent.index_heads = up_to(4), latent.index_dim = 128, latent.top_k = up_to(64);
  const LinearAttention linear{.key_heads = 12,
                               .value_heads = 24,
                               .key_dim = up_to(8),
                               .value_dim = up_to(8),
                               .convolution = 1 + up_to(4)};
  StateSpace states{.inner = 96,
                    .state = 8 * up_to(4),
                    .heads = 24,
                    .groups = 12,
                    .convolution = 1 + up_to(4),
                    .convolution_bias = coin(),
                    .projection_bias = coin(),
                    .output_norm = coin()};
  // Mamba adds step sizes up over the ranks: no model has that beside an MLP, either.
  if (coin() && !m.parallel_block)
    states.heads = states.groups = 0, states.step_rank = up_to(8), states.inner_norms = coin();
  const std::int64_t kind = up_to(9);  // mostly plain heads
  for (std::size_t i = 0; i < m.layers.size(); ++i) {
    HeadAttention local = heads;
    if (kind == 1 && i % 2 == 0) local.window = up_to(64);
    m.layers[i].attention = local;
    if (kind == 2 || (kind == 3 && i % 3 == 0)) m.layers[i].attention = latent;
    if (kind == 4 && i % 4 != 3) m.layers[i].attention = linear;
    if (kind == 7 && i % 4 != 3) m.layers[i].attention = states;
    if (kind == 8) {  // heads for every cut, as states are not copied
      HeadAttention many = heads;
      many.kv_heads = 12, many.query_heads = 24, many.qk_norm = QkNorm::none;
      m.layers[i].attention = HybridAttention{many, states};
    }
    if (kind == 9 && !m.parallel_block) {  // a mixer or an MLP a layer
      if (i % 2 == 0)
        m.layers[i].intermediate = 0, m.layers[i].moe = {}, m.layers[i].attention = states;
      else
        m.layers[i].attention = NoAttention();
    }
  }
  return m;
}

inline std::vector<Architecture> catalog_and_random_models() {
  std::vector<Architecture> models = catalog_models();
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) models.push_back(random_model(random));
  return models;
}

inline std::vector<Sharding> shardings(const Architecture& model) {
  std::vector<Sharding> valid;
  for (const int pipeline : {1, 2, 3, 4, 7, 8})
    for (int tensor = 1; tensor <= 16; ++tensor)
      for (int expert = 1; expert <= tensor; ++expert)
        if (const Sharding s{tensor, pipeline, expert}; sharding_problems(model, s).empty())
          valid.push_back(s);
  return valid;
}

inline std::string to_string(const Sharding& s) {
  return "tensor " + std::to_string(s.tensor) + ", pipeline " + std::to_string(s.pipeline) + ", expert " +
         std::to_string(s.expert);
}

// The value of models whose layers are alike in it.
inline const HeadAttention& heads_of(const Architecture& m) {
  return std::get<HeadAttention>(m.layers.front().attention);
}

// Whether heads have keys and values of their own in every layer.
inline bool has_plain_heads(const Architecture& m) {
  return std::ranges::all_of(m.layers, [](const LayerKind& layer) {
    const auto* heads = std::get_if<HeadAttention>(&layer.attention);
    return heads && heads->window == 0;
  });
}

// How many ranks hold the same KV head, or the same latents.
inline std::int64_t kv_copies(const AttentionKind& kind, const Sharding& s) {
  if (std::holds_alternative<LatentAttention>(kind)) return s.tensor;
  const std::int64_t heads = heads_of(kind).kv;
  return heads > 0 && heads < s.tensor ? s.tensor / heads : 1;
}

// Matrices of a layer that every rank has whole: all that yields latents, and the indexer.
inline std::int64_t replicated_matrices(const AttentionKind& kind, std::int64_t hidden) {
  const auto* a = std::get_if<LatentAttention>(&kind);
  if (!a) return 0;
  return hidden * (a->q_rank + a->latent() + a->index_dim + a->index_heads) +
         a->q_rank * a->index_heads * a->index_dim;
}

}  // namespace weir
