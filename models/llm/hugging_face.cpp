#include "models/llm/hugging_face.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "models/llm/config_reader.h"

namespace weir {

// These files write null for "not given".
std::int64_t given(Params& p, const char* key, std::int64_t max, std::int64_t fallback) {
  return p.has(key) ? p.integer({key, ""}, {1, max}) : fallback;
}

bool given(Params& p, const char* key, bool fallback) {
  return p.has(key) ? p.flag({key, ""}) : fallback;
}

std::int64_t needed(Params& p, std::initializer_list<const char*> names, std::int64_t max) {
  for (const char* name : names)
    if (p.has(name)) return p.integer({name, ""}, {1, max});
  return p.integer({*names.begin(), ""}, {1, max});
}

namespace {

void read_sizes(Params& p, Draft& m) {
  m.layers.resize(static_cast<std::size_t>(needed(p, {"num_hidden_layers", "n_layer"}, max_layers)));
  m.hidden = needed(p, {"hidden_size", "n_embd"}, max_width);
  m.heads.query_heads = needed(p, {"num_attention_heads", "n_head"}, max_heads);
  m.heads.kv_heads = given(p, "num_key_value_heads", max_heads, m.heads.query_heads);
  m.heads.head_dim = given(p, "head_dim", max_head_dim, m.hidden / m.heads.query_heads);
  m.vocabulary = needed(p, {"vocab_size"}, max_vocabulary);
  if (!p.has("head_dim") && m.hidden % m.heads.query_heads != 0)
    p.fail("num_attention_heads",
           fmt::format("{} heads do not divide a hidden_size of {}, and there is no head_dim",
                       m.heads.query_heads, m.hidden));
}

void set_dense(Draft& m, std::int64_t intermediate) {
  for (LayerKind& layer : m.layers) layer.intermediate = intermediate;
}

}  // namespace

void read_positions(Params& p, Draft& m) {
  m.positions = needed(p, {"max_position_embeddings", "n_positions"}, max_positions);
}

void use_rotary(Params& p, Draft& m, const char* key, double fallback) {
  const double part = p.has(key) ? p.number({key, ""}, fraction) : fallback;
  m.heads.rotary_dim = static_cast<std::int64_t>(part * static_cast<double>(m.heads.head_dim));
}

void read_attention_bias(Params& p, Draft& m, bool fallback) {
  m.heads.qkv_bias = m.heads.o_bias = given(p, "attention_bias", fallback);
}

void llama(Params& p, Draft& m) {
  set_dense(m, needed(p, {"intermediate_size"}, max_intermediate));
  read_attention_bias(p, m, false);
  m.mlp_bias = given(p, "mlp_bias", false);
  read_positions(p, m);
  use_rotary(p, m, "partial_rotary_factor");
}

MixtureOfExperts read_experts(Params& p, const char* experts, const char* intermediate) {
  MixtureOfExperts moe;
  moe.experts = needed(p, {experts}, max_experts);
  moe.active = needed(p, {"num_experts_per_tok"}, moe.experts);
  moe.intermediate = needed(p, {intermediate}, max_intermediate);
  return moe;
}

// Transformers' Qwen2MoeDecoderLayer: experts in every decoder_sparse_step-th layer, but in none of
// mlp_only_layers; a dense MLP in the others.
void use_qwen_experts(Params& p, Draft& m, const MixtureOfExperts& moe) {
  const std::int64_t step = given(p, "decoder_sparse_step", max_layers, 1);
  std::set<double> dense;
  if (p.has("mlp_only_layers"))
    for (const double layer : p.numbers({"mlp_only_layers", ""}, 0)) {
      if (layer != std::floor(layer) || layer < 0 || layer >= static_cast<double>(m.layers.size()))
        p.fail("mlp_only_layers",
               fmt::format("expected layers from 0 to {}, got {}", m.layer_count() - 1, layer));
      dense.insert(layer);
    }
  for (std::size_t i = 0; i < m.layers.size(); ++i)
    if ((static_cast<std::int64_t>(i) + 1) % step == 0 && !dense.contains(static_cast<double>(i)))
      m.layers[i].intermediate = 0, m.layers[i].moe = moe;
}

namespace {

void gemma(Params& p, Draft& m) {
  if (!p.has("head_dim")) m.heads.head_dim = 256;  // GemmaConfig's default, whatever hidden_size is
  llama(p, m);
}

void qwen2(Params& p, Draft& m) {
  llama(p, m);
  m.heads.qkv_bias = true;  // in the model's code, not in its file
  m.heads.o_bias = false;
}

void qwen3(Params& p, Draft& m) {
  llama(p, m);
  m.heads.qk_norm = QkNorm::each_head;
}

void mixtral(Params& p, Draft& m) {
  llama(p, m);
  const MixtureOfExperts moe = read_experts(p, "num_local_experts", "intermediate_size");
  for (LayerKind& layer : m.layers) layer.intermediate = 0, layer.moe = moe;
}

void qwen2_moe(Params& p, Draft& m) {
  qwen2(p, m);
  MixtureOfExperts moe = read_experts(p, "num_experts", "moe_intermediate_size");
  moe.shared_intermediate = needed(p, {"shared_expert_intermediate_size"}, max_intermediate);
  moe.shared_gate = true;
  use_qwen_experts(p, m, moe);
}

void qwen3_moe(Params& p, Draft& m) {
  qwen3(p, m);
  use_qwen_experts(p, m, read_experts(p, "num_experts", "moe_intermediate_size"));
}

void phi3small(Params& p, Draft& m) {
  set_dense(m, needed(p, {"ff_intermediate_size"}, max_intermediate));  // gegelu: gated, as SwiGLU
  m.layer_norm = true;
  // Every linear layer has a bias in modeling_phi3_small.py; the file's attention_bias is not read there.
  m.heads.qkv_bias = m.heads.o_bias = m.mlp_bias = true;
  read_positions(p, m);
  use_rotary(p, m, "partial_rotary_factor");
  if (given(p, "dense_attention_every_n_layers", max_layers, 1) != 1)
    m.notes.emplace_back("its block-sparse attention layers are simulated as dense ones");
}

void phimoe(Params& p, Draft& m) {
  mixtral(p, m);
  m.layer_norm = true;
  m.lm_head_bias = given(p, "lm_head_bias", false);
}

void opt(Params& p, Draft& m) {
  set_dense(m, needed(p, {"ffn_dim"}, max_intermediate));
  m.gated_mlp = false;
  m.layer_norm = true;
  m.heads.qkv_bias = m.heads.o_bias = m.mlp_bias = given(p, "enable_bias", true);
  read_positions(p, m);
  m.learned_positions = m.positions + 2;  // OPTLearnedPositionalEmbedding.offset
  if (given(p, "word_embed_proj_dim", max_width, m.hidden) != m.hidden)
    p.fail("word_embed_proj_dim", "only hidden_size is modelled: no projections after the embedding");
  if (!given(p, "do_layer_norm_before", true))
    p.fail("do_layer_norm_before", "only true is modelled: norms before attention and MLP");
}

void gpt2(Params& p, Draft& m) {
  set_dense(m, given(p, "n_inner", max_intermediate, 4 * m.hidden));
  m.gated_mlp = false;
  m.layer_norm = true;
  m.heads.qkv_bias = m.heads.o_bias = m.mlp_bias = true;
  read_positions(p, m);
  m.learned_positions = m.positions;
}

void gpt_neox(Params& p, Draft& m) {
  set_dense(m, needed(p, {"intermediate_size"}, max_intermediate));
  m.gated_mlp = false;
  m.layer_norm = true;
  m.mlp_bias = true;
  read_attention_bias(p, m, true);
  m.parallel_block = given(p, "use_parallel_residual", true);
  read_positions(p, m);
  use_rotary(p, m, "rotary_pct", 0.25);
}

void falcon(Params& p, Draft& m) {
  const bool grouped = given(p, "new_decoder_architecture", false);
  if (grouped)
    m.heads.kv_heads = given(p, "num_kv_heads", max_heads, m.heads.query_heads);
  else
    m.heads.kv_heads = given(p, "multi_query", true) ? 1 : m.heads.query_heads;
  set_dense(m, given(p, "ffn_hidden_size", max_intermediate, 4 * m.hidden));
  m.gated_mlp = false;
  m.layer_norm = true;
  m.heads.qkv_bias = m.heads.o_bias = m.mlp_bias = given(p, "bias", false);
  m.parallel_block = grouped || given(p, "parallel_attn", true);
  m.block_norms = given(p, "num_ln_in_parallel_attn", 2, grouped || !m.parallel_block ? 2 : 1);
  m.positions = given(p, "max_position_embeddings", max_positions, 2048);  // FalconConfig's default
  if (!given(p, "alibi", false)) use_rotary(p, m, "partial_rotary_factor");
}

struct Family {
  std::string name;      // model_type
  bool tied_embeddings;  // where the file does not say: the class's default, or PretrainedConfig's true
  bool sliding_window;   // whether sliding_window holds where use_sliding_window is not given
  void (*read)(Params&, Draft&);
};
const std::vector<Family> families = {
    {"deepseek_v2", false, false, deepseek},
    {"deepseek_v3", false, false, deepseek},
    {"deepseek_v32", false, false, deepseek},
    {"falcon", true, false, falcon},
    {"gemma", true, false, gemma},
    {"glm_moe_dsa", false, false, deepseek},
    {"gpt2", true, false, gpt2},
    {"gpt_neox", false, false, gpt_neox},
    {"gpt_oss", false, false, gpt_oss},
    {"kimi_k2", false, false, deepseek},
    {"llama", false, false, llama},
    {"llama4_text", false, false, llama4},
    {"minimax_m2", false, false, minimax_m2},
    {"mistral", false, true, llama},
    {"mixtral", false, true, mixtral},
    {"opt", true, false, opt},
    {"phi3", false, true, llama},
    {"phi3small", true, false, phi3small},
    {"phimoe", false, true, phimoe},
    {"qwen2", false, false, qwen2},
    {"qwen2_moe", false, false, qwen2_moe},
    {"qwen3", false, false, qwen3},
    {"qwen3_5_moe_text", false, false, qwen3_5_moe},
    {"qwen3_moe", false, false, qwen3_moe},
    {"qwen3_next", false, false, qwen3_5_moe},
};

void read_family(Params& p, Params& outermost, Draft& m) {
  std::vector<std::string> known;
  for (const Family& family : families) known.push_back(family.name);
  const std::string wanted = p.choice({"model_type", ""}, known);
  for (const Family& family : families) {
    if (family.name != wanted) continue;
    read_sizes(p, m);
    family.read(p, m);
    Params& tied = p.has("tie_word_embeddings") ? p : outermost;
    m.tied_embeddings = given(tied, "tie_word_embeddings", family.tied_embeddings);
    if (given(p, "use_sliding_window", family.sliding_window) && p.has("sliding_window")) {
      const std::int64_t window = p.integer({"sliding_window", ""}, {1, max_positions});
      if (window < m.positions)
        m.notes.push_back(fmt::format(
            "its sliding window of {} tokens is not modelled: attention and KV cache hold the whole context",
            window));
    }
    give_layers_their_attention(p, m);
    refuse_unknown_layers(p, wanted);
    if (!m.latent && m.heads.query_heads % m.heads.kv_heads != 0)
      p.fail("num_key_value_heads", fmt::format("{} KV heads do not divide {} attention heads",
                                                m.heads.kv_heads, m.heads.query_heads));
  }
}

}  // namespace

Architecture read_architecture(const Json& config, Reading& reading, std::string name, bool strict) {
  Draft m;
  m.name = std::move(name);
  Params outermost(reading, config);
  const auto close = [&](Params& p) { strict ? p.close() : p.close_ignoring_rest(); };
  if (outermost.has("quantization_config"))
    m.notes.emplace_back(
        "its quantization_config is not read: weights are of the scenario's precision.weights");
  if (outermost.has("text_config")) {  // a model that also sees or hears
    Params text = outermost.object({"text_config", ""});
    m.notes.emplace_back("only the language model of its text_config is simulated");
    read_family(text, outermost, m);
    close(text);
  } else {
    read_family(outermost, outermost, m);
  }
  close(outermost);
  return m;
}

}  // namespace weir
