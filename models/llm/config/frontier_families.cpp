// Mixtures of experts of 2025 and 2026 as their config.json describes them, with the defaults of their
// classes in the transformers library.
#include <fmt/format.h>

#include <algorithm>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

// Experts are chosen in topk_group of n_group groups. Under an even router a batch hits as many experts with
// groups as without: they decide where a token's experts lie, and so which rank sends what to which.
void check_groups(ConfigReader& c, const MixtureOfExperts& moe) {
  const std::int64_t groups = c.size("n_group", moe.experts, 1);
  const std::int64_t chosen = c.size("topk_group", groups, 1);
  if (moe.experts % groups != 0)
    c.fail("n_group", fmt::format("{} groups do not divide {} experts", groups, moe.experts));
  else if (chosen * (moe.experts / groups) < moe.active)
    c.fail("topk_group", fmt::format("{} groups of {} experts have fewer than the {} of a token", chosen,
                                     moe.experts / groups, moe.active));
}

// The others take the top k of the layer before them: as listed, or as a pattern of F and S, or from a first
// layer on every so many (Transformers, GlmMoeDsaConfig.__post_init__; vLLM, models/deepseek_v2.py).
std::vector<bool> layers_with_indexers(ConfigReader& c, const Draft& m) {
  const bool listed = c.has("indexer_types");
  const char* key = listed ? "indexer_types" : "index_topk_pattern";
  const std::int64_t step = c.size("index_topk_freq", max_layers, 1);
  const std::int64_t offset = c.count("index_skip_topk_offset", max_layers, 2);
  std::vector<bool> own;
  if (!c.has(key)) {
    for (std::int64_t i = 0; i < m.layer_count(); ++i)
      own.push_back(std::max<std::int64_t>(i - offset + 1, 0) % step == 0);
    return own;
  }
  if (listed && c.has("index_topk_pattern")) c.words("index_topk_pattern");  // of the same
  bool known = true;
  for (const std::string& word : c.words(key)) {
    own.push_back(word == "full" || word == "F");
    known = known && (own.back() || word == "shared" || word == "S");
  }
  if (!known || std::ssize(own) != m.layer_count() || !own.front())
    c.fail(key, fmt::format("expected \"full\" or \"shared\" for each of the {} layers, the first \"full\"",
                            m.layer_count()));
  return own;
}

void read_latent_attention(ConfigReader& c, Draft& m) {
  LatentAttention a;
  a.heads = m.heads.query_heads;
  a.q_rank = c.count("q_lora_rank", max_width, 0);
  a.kv_rank = c.size("kv_lora_rank", max_width);
  a.rope_dim = c.size("qk_rope_head_dim", max_head_dim);
  a.nope_dim = c.size("qk_nope_head_dim", max_head_dim);
  a.value_dim = c.flag("values_share_hidden", false) ? c.size("v_head_dim", max_head_dim, m.hidden / a.heads)
                                                     : c.size("v_head_dim", max_head_dim);
  if (c.has("index_topk")) {
    a.top_k = c.size("index_topk", max_positions);
    a.index_heads = c.size("index_n_heads", max_heads);
    a.index_dim = c.size("index_head_dim", max_head_dim);
    if (a.q_rank == 0) c.fail("q_lora_rank", "required where there is an index_topk: indexers query with it");
    m.has_indexer = layers_with_indexers(c, m);
  }
  for (const char* bias : {"attention_bias", "mlp_bias"})
    if (c.flag(bias, false)) c.fail(bias, "only false is modelled beside kv_lora_rank");
  m.latent = a;
}

}  // namespace

std::vector<std::string> every(std::int64_t period, const std::string& other, const std::string& usual,
                               std::int64_t layers) {
  std::vector<std::string> types;
  for (std::int64_t i = 1; i <= layers; ++i) types.push_back(i % period == 0 ? other : usual);
  return types;
}

// DeepSeek-V2, V3, R1, V3.2, Kimi-K2, GLM-5; MiniCPM 3, which has no experts.
void deepseek(ConfigReader& c, Draft& m) {
  if (c.flag("has_experts", true)) {
    MixtureOfExperts moe = read_experts(c, m);
    moe.routing_bias = c.text("topk_method", "noaux_tc") == "noaux_tc";
    if (c.has("num_experts")) check_groups(c, moe);
    give_layers_their_mlp(c, m, moe);
    read_positions(c, m);
  } else {
    dense(c, m);
  }
  read_latent_attention(c, m);
  note_draft_layers(c, m, "num_nextn_predict_layers");
}

void gpt_oss(ConfigReader& c, Draft& m) {
  MixtureOfExperts moe = read_experts(c, m);
  moe.bias = true;
  for (LayerKind& layer : m.layers) layer.moe = moe;
  read_biases(c, m);
  m.heads.sinks = true;
  read_positions(c, m);
  read_rotary(c, m);
  m.layer_types = every(2, "full_attention", "sliding_attention", m.layer_count());
}

// Norms of queries and keys, which rotating heads alone have, have no weights (Llama4TextL2Norm): those that
// are counted here are a millionth of the model.
void llama4(ConfigReader& c, Draft& m) {
  MixtureOfExperts moe = read_experts(c, m);
  moe.shared_intermediate = moe.intermediate;
  const std::int64_t step = c.size("interleave_moe_layer_step", max_layers, 1);
  const std::int64_t dense = c.size("intermediate_size_mlp", max_intermediate, 16384);
  for (std::int64_t i = 0; i < m.layer_count(); ++i) {
    LayerKind& layer = m.layers[static_cast<std::size_t>(i)];
    if ((i + 1) % step == 0)
      layer.moe = moe;
    else
      layer.intermediate = dense;
  }
  read_biases(c, m);
  if (c.flag("use_qk_norm", true)) m.heads.qk_norm = QkNorm::each_head;
  read_positions(c, m);
  read_rotary(c, m);
  m.rotary_in_windows_alone = true;
  m.layer_types = every(c.size("no_rope_layer_interval", max_layers, 4), "full_attention",
                        "chunked_attention", m.layer_count());
}

void minimax_m2(ConfigReader& c, Draft& m) {
  MixtureOfExperts moe = read_experts(c, m);
  moe.routing_bias = c.flag("use_routing_bias", true);
  for (LayerKind& layer : m.layers) layer.moe = moe;
  read_biases(c, m);
  if (c.flag("use_qk_norm", true))
    m.heads.qk_norm = c.word("qk_norm_type", {"per_layer", "per_head"}, "per_layer") == "per_layer"
                          ? QkNorm::all_heads
                          : QkNorm::each_head;
  read_positions(c, m);
  read_rotary(c, m);
  if (!std::ranges::all_of(c.numbers("attn_type_list", {0, 1}), [](std::int64_t type) { return type == 1; }))
    c.fail("attn_type_list",
           "says of layers what Weir does not know of a minimax_m2: 1 is softmax attention, "
           "which all have; 0 is linear attention");
  if (c.flag("use_mtp", false)) note_draft_layers(c, m, "num_mtp_modules");
}

// Qwen3-Next and Qwen3.5, with experts or without.
void qwen3_5(ConfigReader& c, Draft& m) {
  if (c.flag("has_experts", true)) {
    MixtureOfExperts moe = read_experts(c, m);
    if (moe.shared_intermediate == 0)
      c.size("shared_expert_intermediate_size", max_intermediate);  // required
    moe.shared_gate = true;
    give_layers_their_mlp(c, m, moe);
    read_biases(c, m);
    read_positions(c, m);
    read_rotary(c, m);
  } else {
    dense(c, m);
  }
  if (c.text("mamba_ssm_dtype", "float32") != "float32")
    c.fail("mamba_ssm_dtype", "only float32 is modelled: states of 32 bits");
  m.heads.qk_norm = QkNorm::each_head;
  if (c.flag("attn_output_gate", true)) m.heads.output_gate = OutputGate::each_element;
  m.linear = LinearAttention{.key_heads = c.size("linear_num_key_heads", max_heads),
                             .value_heads = c.size("linear_num_value_heads", max_heads),
                             .key_dim = c.size("linear_key_head_dim", max_head_dim),
                             .value_dim = c.size("linear_value_head_dim", max_head_dim),
                             .convolution = c.size("linear_conv_kernel_dim", max_head_dim)};
  m.layer_types = every(c.size("full_attention_interval", max_layers, 4), "full_attention",
                        "linear_attention", m.layer_count());
  note_draft_layers(c, m, "mtp_num_hidden_layers");
}

}  // namespace weir
