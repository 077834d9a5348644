// Mixtures of experts of 2025 and 2026 as their config.json describes them, with the defaults of their
// classes in the transformers library.
#include <fmt/format.h>

#include "models/llm/config_reader.h"

namespace weir {
namespace {

// Experts are chosen in topk_group of n_group groups. Under an even router a batch hits as many experts with
// groups as without: they matter to where a token's experts lie, and so to who sends what to whom.
void check_groups(Params& p, const MixtureOfExperts& moe) {
  const std::int64_t groups = given(p, "n_group", moe.experts, 1);
  const std::int64_t chosen = given(p, "topk_group", groups, 1);
  if (moe.experts % groups != 0)
    p.fail("n_group", fmt::format("{} groups do not divide {} experts", groups, moe.experts));
  else if (chosen * (moe.experts / groups) < moe.active)
    p.fail("topk_group", fmt::format("{} groups of {} experts have fewer than the {} of a token", chosen,
                                     moe.experts / groups, moe.active));
}

void read_latent_attention(Params& p, Draft& m) {
  LatentAttention a;
  a.heads = m.heads.query_heads;
  a.q_rank = given(p, "q_lora_rank", max_width, 0);
  a.kv_rank = needed(p, {"kv_lora_rank"}, max_width);
  a.rope_dim = needed(p, {"qk_rope_head_dim"}, max_head_dim);
  a.nope_dim = needed(p, {"qk_nope_head_dim"}, max_head_dim);
  a.value_dim = needed(p, {"v_head_dim"}, max_head_dim);
  if (p.has("index_topk")) {
    a.top_k = needed(p, {"index_topk"}, max_positions);
    a.index_heads = needed(p, {"index_n_heads"}, max_heads);
    a.index_dim = needed(p, {"index_head_dim"}, max_head_dim);
    if (a.q_rank == 0) p.fail("q_lora_rank", "required where there is an index_topk: indexers query with it");
  }
  if (given(p, "attention_bias", false))
    p.fail("attention_bias", "only false is modelled beside kv_lora_rank");
  m.latent = a;
}

void note_draft_layers(Params& p, Draft& m, const char* key) {
  if (p.integer({key, ""}, {0, max_layers}, 0) > 0)
    m.notes.push_back(fmt::format("its layers that predict further tokens ({}) are not simulated", key));
}

// Every `period`-th layer is of the other type.
std::vector<std::string> every(std::int64_t period, const std::string& other, const std::string& usual,
                               std::int64_t layers) {
  std::vector<std::string> types;
  for (std::int64_t i = 1; i <= layers; ++i) types.push_back(i % period == 0 ? other : usual);
  return types;
}

}  // namespace

// DeepSeek-V2, V3, R1, V3.2, Kimi-K2, GLM-5.
void deepseek(Params& p, Draft& m) {
  const std::int64_t dense = needed(p, {"intermediate_size"}, max_intermediate);
  MixtureOfExperts moe = read_experts(p, "n_routed_experts", "moe_intermediate_size");
  moe.shared_intermediate = moe.intermediate * given(p, "n_shared_experts", max_experts, 0);
  moe.routing_bias = p.text({"topk_method", ""}, "noaux_tc") == "noaux_tc";
  check_groups(p, moe);
  const std::int64_t first = p.integer({"first_k_dense_replace", ""}, {0, m.layer_count()}, 0);
  const std::int64_t step = given(p, "moe_layer_freq", max_layers, 1);
  for (std::int64_t i = 0; i < m.layer_count(); ++i) {
    LayerKind& layer = m.layers[static_cast<std::size_t>(i)];
    if (i >= first && i % step == 0)
      layer.moe = moe;
    else
      layer.intermediate = dense;
  }
  read_latent_attention(p, m);
  read_positions(p, m);
  note_draft_layers(p, m, "num_nextn_predict_layers");
}

void gpt_oss(Params& p, Draft& m) {
  MixtureOfExperts moe = read_experts(p, "num_local_experts", "intermediate_size");
  moe.bias = true;
  for (LayerKind& layer : m.layers) layer.moe = moe;
  read_attention_bias(p, m, true);
  m.heads.sinks = true;
  read_positions(p, m);
  use_rotary(p, m, "partial_rotary_factor");
  m.layer_types = every(2, "full_attention", "sliding_attention", m.layer_count());
}

// Norms of queries and keys, which rotating heads alone have, have no weights (Llama4TextL2Norm): those that
// are counted here are a millionth of the model.
void llama4(Params& p, Draft& m) {
  MixtureOfExperts moe = read_experts(p, "num_local_experts", "intermediate_size");
  moe.shared_intermediate = moe.intermediate;
  const std::int64_t step = given(p, "interleave_moe_layer_step", max_layers, 1);
  const std::int64_t dense = given(p, "intermediate_size_mlp", max_intermediate, 16384);
  for (std::int64_t i = 0; i < m.layer_count(); ++i) {
    LayerKind& layer = m.layers[static_cast<std::size_t>(i)];
    if ((i + 1) % step == 0)
      layer.moe = moe;
    else
      layer.intermediate = dense;
  }
  read_attention_bias(p, m, false);
  if (given(p, "use_qk_norm", true)) m.heads.qk_norm = QkNorm::each_head;
  read_positions(p, m);
  use_rotary(p, m, "partial_rotary_factor");
  m.rotary_in_windows_alone = true;
  m.layer_types = every(given(p, "no_rope_layer_interval", max_layers, 4), "full_attention",
                        "chunked_attention", m.layer_count());
}

void minimax_m2(Params& p, Draft& m) {
  MixtureOfExperts moe = read_experts(p, "num_local_experts", "intermediate_size");
  moe.shared_intermediate = p.integer({"shared_intermediate_size", ""}, {0, max_intermediate}, 0);
  moe.routing_bias = given(p, "use_routing_bias", true);
  for (LayerKind& layer : m.layers) layer.moe = moe;
  read_attention_bias(p, m, false);
  if (given(p, "use_qk_norm", true))
    m.heads.qk_norm = p.choice(
        {"qk_norm_type", ""},
        Choices<QkNorm>{{"per_layer", QkNorm::all_heads}, {"per_head", QkNorm::each_head}}, "per_layer");
  read_positions(p, m);
  m.heads.rotary_dim = given(p, "rotary_dim", m.heads.head_dim, m.heads.head_dim);
  if (given(p, "use_mtp", false)) note_draft_layers(p, m, "num_mtp_modules");
}

// Qwen3-Next and Qwen3.5.
void qwen3_5_moe(Params& p, Draft& m) {
  MixtureOfExperts moe = read_experts(p, "num_experts", "moe_intermediate_size");
  moe.shared_intermediate = needed(p, {"shared_expert_intermediate_size"}, max_intermediate);
  moe.shared_gate = true;
  for (LayerKind& layer : m.layers)
    layer.intermediate = given(p, "intermediate_size", max_intermediate, 5632);
  use_qwen_experts(p, m, moe);
  read_attention_bias(p, m, false);
  m.heads.qk_norm = QkNorm::each_head;
  m.heads.output_gate = given(p, "attn_output_gate", true);
  m.linear = LinearAttention{.key_heads = needed(p, {"linear_num_key_heads"}, max_heads),
                             .value_heads = needed(p, {"linear_num_value_heads"}, max_heads),
                             .key_dim = needed(p, {"linear_key_head_dim"}, max_head_dim),
                             .value_dim = needed(p, {"linear_value_head_dim"}, max_head_dim),
                             .convolution = needed(p, {"linear_conv_kernel_dim"}, max_head_dim)};
  read_positions(p, m);
  if (p.has("rope_parameters")) {
    Params rope = p.object({"rope_parameters", ""});
    use_rotary(rope, m, "partial_rotary_factor", 0.25);
    rope.close_ignoring_rest();
  } else {
    use_rotary(p, m, "partial_rotary_factor", 0.25);
  }
  m.layer_types = every(given(p, "full_attention_interval", max_layers, 4), "full_attention",
                        "linear_attention", m.layer_count());
  note_draft_layers(p, m, "mtp_num_hidden_layers");
}

}  // namespace weir
