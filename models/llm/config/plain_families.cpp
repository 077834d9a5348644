// Families of which every layer has heads with keys and values of their own, dense or with experts: what of
// them is in their rows (families/*.json) is read here in one way.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

std::int64_t kv_heads(ConfigReader& c, std::int64_t query_heads) {
  if (c.has("num_key_value_heads")) return c.size("num_key_value_heads", max_heads);
  if (c.flag("multi_query", false)) return 1;
  return query_heads / c.size("query_heads_per_kv_head", query_heads, 1);
}

// Qwen's first family writes the width of gate and up together; GPT-2 and its kin leave out four times
// hidden.
std::int64_t dense_width(ConfigReader& c, const Draft& m) {
  const std::int64_t ratio = c.count("expansion_ratio", 64, 0);
  const std::int64_t width = ratio > 0 ? c.size("intermediate_size", max_intermediate, ratio * m.hidden)
                                       : c.size("intermediate_size", max_intermediate);
  return width / c.size("mlp_halves", 2, 1);
}

void read_norms(ConfigReader& c, Draft& m) {
  m.norm_vectors = c.count("norm_vectors", 2, 1);
  m.parallel_block = c.flag("parallel_block", false);
  m.block_norms = m.parallel_block ? c.size("norms_of_parallel_block", 2, 2) : c.size("block_norms", 4, 2);
  const std::string kind = c.word("qk_norm_kind", {"each_head", "all_heads"}, "");
  if (kind.empty() || !c.flag("use_qk_norm", true)) return;
  m.heads.qk_norm = kind == "each_head" ? QkNorm::each_head : QkNorm::all_heads;
}

// Dense models and those with experts have these keys alike.
void read_block(ConfigReader& c, Draft& m) {
  read_biases(c, m);
  read_norms(c, m);
  const std::string gate = c.word("output_gate", {"each_head", "each_element"}, "");
  if (!gate.empty())
    m.heads.output_gate = gate == "each_head" ? OutputGate::each_head : OutputGate::each_element;
  read_positions(c, m);
  read_rotary(c, m);
}

}  // namespace

// Inside a block of the file, such as rope_parameters, or beside it.
double rotary_share(ConfigReader& c) {
  const char* key = "partial_rotary_factor";
  if (!c.in_file(key))
    if (std::optional<Params> rope = c.object("rope_parameters"); rope && rope->has(key))
      return rope->number({key, ""}, fraction);
  return c.share(key, 1);
}

namespace {

// Nemotron 3 Ultra's file lists its layers, and does not count them.
std::size_t layers_of(ConfigReader& c) {
  const char* listed = "hybrid_override_pattern";
  if (!c.has("num_hidden_layers") && c.has(listed)) return std::max<std::size_t>(1, c.words(listed).size());
  return static_cast<std::size_t>(c.size("num_hidden_layers", max_layers));
}

}  // namespace

void read_sizes(ConfigReader& c, Draft& m) {
  m.layers.resize(layers_of(c));
  m.hidden = c.size("hidden_size", max_width);
  m.heads.query_heads = c.size("num_attention_heads", max_heads);
  m.heads.kv_heads = kv_heads(c, m.heads.query_heads);
  m.heads.head_dim =
      c.size("head_dim", max_head_dim, std::max<std::int64_t>(1, m.hidden / m.heads.query_heads));
  m.vocabulary = c.size("vocab_size", max_vocabulary);
  m.gated_mlp = c.flag("gated_mlp", true);
}

void read_positions(ConfigReader& c, Draft& m) {
  m.positions = c.size("max_position_embeddings", max_positions);
  if (c.has("position_table_offset"))
    m.learned_positions = m.positions + c.count("position_table_offset", max_head_dim, 0);
}

void read_biases(ConfigReader& c, Draft& m) {
  const bool all = c.flag("attention_bias", false);
  m.heads.qkv_bias = c.flag("qkv_bias", all);
  m.heads.o_bias = c.flag("o_bias", all);
  m.mlp_bias = c.flag("mlp_bias", false);
  m.lm_head_bias = c.flag("lm_head_bias", false);
}

void read_rotary(ConfigReader& c, Draft& m) {
  if (!c.flag("rotary", true)) return;  // ALiBi, or positions from a table
  const double dim = rotary_share(c) * static_cast<double>(m.heads.head_dim);
  m.heads.rotary_dim = c.size("rotary_dim", m.heads.head_dim, static_cast<std::int64_t>(dim));
}

MixtureOfExperts read_experts(ConfigReader& c, const Draft& m) {
  MixtureOfExperts moe;
  const bool known = c.has("num_experts");  // else how many a token has cannot be judged
  moe.experts = c.size("num_experts", max_experts);
  moe.active = c.size("num_experts_per_tok", known ? moe.experts : max_experts);
  if (!known) moe.active = 1;
  moe.intermediate = c.size("moe_intermediate_size", max_intermediate);
  const std::int64_t shared = c.count("n_shared_experts", max_experts, 0);
  const std::int64_t width = c.count("shared_expert_intermediate_size", max_intermediate, 0);
  moe.shared_intermediate = width > 0 ? width * std::max<std::int64_t>(1, shared) : moe.intermediate * shared;
  if (c.flag("shared_as_wide_as_hidden", false))
    moe.shared_intermediate = m.hidden;  // Arctic's MLP beside them
  moe.shared_gate = c.flag("shared_gate", false);
  moe.routing_bias = c.flag("routing_bias", false);
  return moe;
}

void give_layers_their_mlp(ConfigReader& c, Draft& m, const MixtureOfExperts& moe) {
  const std::vector<bool> sparse = layers_with_experts(c, m);
  const bool some_dense = std::ranges::find(sparse, false) != sparse.end();
  const std::int64_t dense = some_dense ? dense_width(c, m) : 0;
  if (!some_dense) c.has("intermediate_size");  // read as its class does, and used by no layer
  for (std::size_t i = 0; i < m.layers.size(); ++i)
    if (sparse[i])
      m.layers[i].moe = moe;
    else
      m.layers[i].intermediate = dense;
}

void note_draft_layers(ConfigReader& c, Draft& m, const char* key) {
  if (c.count(key, max_layers, 0) > 0)
    m.notes.push_back(fmt::format("its layers that predict further tokens ({}) are not simulated", key));
}

void dense(ConfigReader& c, Draft& m) {
  const std::int64_t width = dense_width(c, m);
  for (LayerKind& layer : m.layers) layer.intermediate = width;
  read_block(c, m);
  note_draft_layers(c, m, "num_nextn_predict_layers");
}

namespace {

// Granite 4 without experts has the shared one alone.
void shared_alone(ConfigReader& c, Draft& m) {
  const std::int64_t shared = c.count("shared_expert_intermediate_size", max_intermediate, 0);
  if (shared == 0) return dense(c, m);
  for (LayerKind& layer : m.layers) layer.intermediate = shared;
  for (const char* unused : {"num_experts_per_tok", "moe_intermediate_size", "intermediate_size"})
    c.has(unused);
  read_block(c, m);
}

}  // namespace

void experts(ConfigReader& c, Draft& m) {
  if (c.count("num_experts", max_experts, 1) == 0) return shared_alone(c, m);
  read_block(c, m);
  give_layers_their_mlp(c, m, read_experts(c, m));
  note_draft_layers(c, m, "num_nextn_predict_layers");
}

void falcon(ConfigReader& c, Draft& m) {
  const bool grouped = c.flag("new_decoder_architecture", false);
  if (grouped)
    m.heads.kv_heads = c.size("num_kv_heads", max_heads, m.heads.query_heads);
  else
    m.heads.kv_heads = c.flag("multi_query", true) ? 1 : m.heads.query_heads;
  for (LayerKind& layer : m.layers) layer.intermediate = dense_width(c, m);
  m.norm_vectors = 2;
  m.heads.qkv_bias = m.heads.o_bias = m.mlp_bias = c.flag("bias", false);
  m.parallel_block = grouped || c.flag("parallel_attn", true);
  m.block_norms = c.size("num_ln_in_parallel_attn", 2, grouped || !m.parallel_block ? 2 : 1);
  m.positions = c.size("max_position_embeddings", max_positions, 2048);  // FalconConfig's default
  if (!c.flag("alibi", false)) read_rotary(c, m);
}

void opt(ConfigReader& c, Draft& m) {
  dense(c, m);
  if (c.size("word_embed_proj_dim", max_width, m.hidden) != m.hidden)
    c.fail("word_embed_proj_dim", "only hidden_size is modelled: no projections after the embedding");
  if (!c.flag("do_layer_norm_before", true))
    c.fail("do_layer_norm_before", "only true is modelled: norms before attention and MLP");
}

void phi3small(ConfigReader& c, Draft& m) {
  dense(c, m);
  if (c.size("dense_attention_every_n_layers", max_layers, 1) != 1)
    m.notes.emplace_back("its block-sparse attention layers are simulated as dense ones");
}

namespace {

// DeciLM's modeling_decilm.py, _ffn_mult_to_intermediate_size and _find_multiple.
std::int64_t deci_width(double multiple, std::int64_t hidden) {
  constexpr std::int64_t of = 256;
  const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(hidden) / 3);
  return (width + of - 1) / of * of;
}

void read_deci_layer(Params& block, const Draft& m, LayerKind& layer) {
  Params attention = block.object({"attention", ""}, Params::Presence::required);
  Params mlp = block.object({"ffn", ""}, Params::Presence::required);
  const auto replaced = [](Params& p) {
    const bool linear = p.has("replace_with_linear") && p.flag({"replace_with_linear", ""});
    if (linear) p.fail("replace_with_linear", "only false is modelled: no matrix in a layer's place");
    return p.has("no_op") && p.flag({"no_op", ""});
  };
  HeadAttention heads = m.heads;
  if (replaced(attention)) {
    layer.attention = NoAttention();
  } else {
    const std::int64_t group = attention.integer({"n_heads_in_group", ""}, {1, heads.query_heads});
    if (heads.query_heads % group != 0)
      attention.fail("n_heads_in_group",
                     fmt::format("groups of {} do not divide {} attention heads", group, heads.query_heads));
    heads.kv_heads = heads.query_heads / group;
    layer.attention = heads;
  }
  if (!replaced(mlp)) layer.intermediate = deci_width(mlp.number({"ffn_mult", ""}, {0.01, 64}), m.hidden);
  for (Params* p : {&block, &attention, &mlp}) p->close_ignoring_rest();
}

}  // namespace

// Models of which a search has taken layers' parts out: block_configs has an object a layer (Nemotron), or
// num_key_value_heads_per_layer a number (DeciLM).
void deci(ConfigReader& c, Draft& m) {
  const std::vector<std::int64_t> kv = c.numbers("num_key_value_heads_per_layer", {1, m.heads.query_heads});
  kv.empty() ? read_block(c, m) : dense(c, m);
  m.layers_attend = true;
  if (!kv.empty() && std::ssize(kv) != m.layer_count())
    return c.fail("num_key_value_heads_per_layer", fmt::format("expected {} integers", m.layer_count()));
  for (std::size_t i = 0; i < kv.size(); ++i) {
    HeadAttention heads = m.heads;
    heads.kv_heads = kv[i];
    m.layers[i].attention = heads;
    if (heads.query_heads % heads.kv_heads != 0)
      c.fail("num_key_value_heads_per_layer",
             fmt::format("{} KV heads do not divide {} attention heads", heads.kv_heads, heads.query_heads));
  }
  if (!kv.empty()) return;
  std::vector<Params> blocks = c.file().list({"block_configs", ""}, m.layers.size());
  for (std::size_t i = 0; i < std::min(blocks.size(), m.layers.size()); ++i)
    read_deci_layer(blocks[i], m, m.layers[i]);
  std::erase_if(m.layers, [](const LayerKind& layer) { return !layer.has_attention() && !layer.has_mlp(); });
  if (m.layers.empty()) c.fail("block_configs", "no layer of it has attention or an MLP");
}

}  // namespace weir
