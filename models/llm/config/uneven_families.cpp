// Families of which layers that attend to everything have other heads than those in windows: Gemma 4,
// Laguna, Step 3.5.
#include <fmt/format.h>

#include <algorithm>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

std::int64_t rotary_dim(const HeadAttention& heads, double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(heads.head_dim));
}

// rope_parameters has an object for each type of layer.
double rotary_share_of(ConfigReader& c, const char* type, double fallback) {
  std::optional<Params> rope = c.object("rope_parameters");
  if (!rope || !rope->has(type)) return fallback;
  Params own = rope->object({type, ""});
  const char* key = "partial_rotary_factor";
  return own.has(key) ? own.number({key, ""}, fraction) : fallback;
}

// A share for each layer: those of the first layer of a type stand for all of it.
void read_rotary_of_layers(ConfigReader& c, Draft& m) {
  const char* key = "partial_rotary_factors";
  if (!c.file().has(key)) return;
  const std::vector<double> shares = c.file().numbers({key, ""}, 0, {0, 1});
  const std::vector<std::string> types = c.words("layer_types");
  for (std::size_t i = std::min(shares.size(), types.size()); i-- > 0;) {
    HeadAttention& heads = types[i] == "sliding_attention" ? m.heads_in_windows : m.heads;
    heads.rotary_dim = rotary_dim(heads, shares[i]);
  }
}

}  // namespace

// A dense MLP beside the experts, which its row takes for a shared expert. One projection makes keys and
// values of layers that attend to everything where attention_k_eq_v is true.
void gemma4(ConfigReader& c, Draft& m) {
  m.mlp_beside_experts = c.flag("enable_moe_block", false);
  m.mlp_beside_experts ? experts(c, m) : dense(c, m);
  for (const char* unused : {"num_experts", "num_experts_per_tok", "moe_intermediate_size"}) c.has(unused);
  m.heads_in_windows = m.heads;
  m.heads_in_windows.rotary_dim = rotary_dim(m.heads, rotary_share_of(c, "sliding_attention", 1));
  m.heads.head_dim = c.size("global_head_dim", max_head_dim, 512);  // Gemma4TextConfig's
  m.heads.rotary_dim = rotary_dim(m.heads, rotary_share_of(c, "full_attention", 0.25));
  m.heads.one_key_and_value = c.flag("attention_k_eq_v", false);
  const std::int64_t own = c.size("num_global_key_value_heads", max_heads, m.heads.kv_heads);
  if (m.heads.one_key_and_value) m.heads.kv_heads = own;
  if (c.count("hidden_size_per_layer_input", max_width, 256) > 0)
    c.fail("hidden_size_per_layer_input",
           "only 0 is modelled, and its class's default is 256: no embeddings of their own in every layer");
}

void laguna(ConfigReader& c, Draft& m) {
  experts(c, m);
  const bool told = c.text_given("gating");
  if (told && c.word("gating", {"per-head", "per-element"}, "") == "per-element")
    m.heads.output_gate = OutputGate::each_element;
  else if (!told && !c.flag("gating", true))
    m.heads.output_gate = OutputGate::none;
  m.heads_in_windows = m.heads;
  m.heads.rotary_dim = rotary_dim(m.heads, rotary_share_of(c, "full_attention", 0.5));
  m.heads_in_windows.rotary_dim = rotary_dim(m.heads, rotary_share_of(c, "sliding_attention", 1));
  const char* key = "num_attention_heads_per_layer";
  m.query_heads = c.numbers(key, {1, max_heads});
  if (!m.query_heads.empty() && std::ssize(m.query_heads) != m.layer_count())
    c.fail(key, fmt::format("expected a number for each of the {} layers", m.layer_count()));
}

void step3p5(ConfigReader& c, Draft& m) {
  if (!c.has("moe_layers_enum") && !c.has("first_k_dense_replace"))
    c.fail("moe_layers_enum", fmt::format("required, but missing, in a {} (model_type)", c.family()));
  experts(c, m);
  if (!c.flag("use_head_wise_attn_gate", true)) m.heads.output_gate = OutputGate::none;
  m.heads_in_windows = m.heads;
  if (std::optional<Params> windows = c.object("attention_other_setting")) {
    HeadAttention& heads = m.heads_in_windows;
    heads.query_heads = windows->integer({"num_attention_heads", ""}, {1, max_heads}, heads.query_heads);
    heads.kv_heads = windows->integer({"num_attention_groups", ""}, {1, max_heads}, heads.kv_heads);
    heads.head_dim = windows->integer({"head_dim", ""}, {1, max_head_dim}, heads.head_dim);
    heads.rotary_dim = heads.head_dim;
    windows->close_ignoring_rest();
  }
  read_rotary_of_layers(c, m);
}

}  // namespace weir
