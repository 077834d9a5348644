// Layers that attend in different ways: `layer_types`, a word a layer, and what is refused because nobody
// here knows it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/llm/config_reader.h"

namespace weir {
namespace {

// Where a file names each layer, its words.
std::vector<std::string> layer_types_of(Params& p, const Draft& m) {
  if (!p.has("layer_types")) return m.layer_types;
  const Json* listed = p.value({"layer_types", ""}, {{"type", "array"}});
  std::vector<std::string> types;
  for (const Json& word : listed && listed->is_array() ? *listed : Json::array())
    if (word.is_string()) types.push_back(word.get<std::string>());
  if (std::ssize(types) == m.layer_count()) return types;
  p.fail("layer_types", fmt::format("expected a word for each of the {} layers", m.layer_count()));
  return {};
}

class LayerTypes {
 public:
  LayerTypes(Params& p, const Draft& m) : p_(p), m_(m) {}

  AttentionKind of(const std::string& type) {
    if (type == "full_attention") return everywhere();
    if (type == "sliding_attention") return in_window("sliding_window");
    if (type == "chunked_attention") return in_window("attention_chunk_size");
    if (type == "linear_attention" && m_.linear) return *m_.linear;
    if (std::ranges::find(unknown_, type) != unknown_.end()) return everywhere();  // told for all its layers
    unknown_.push_back(type);
    p_.fail("layer_types",
            fmt::format("{} has a layer of a kind that Weir does not know in this model_type (got \"{}\", "
                        "known: {})",
                        m_.name, shortened(type, 40), fmt::join(known(), ", ")));
    return everywhere();
  }

 private:
  std::vector<std::string> known() const {
    std::vector<std::string> words = {"full_attention"};
    if (!m_.latent) words.insert(words.end(), {"sliding_attention", "chunked_attention"});
    if (m_.linear) words.emplace_back("linear_attention");
    return words;
  }

  AttentionKind everywhere() const {
    if (m_.latent) return *m_.latent;
    HeadAttention heads = m_.heads;
    if (m_.rotary_in_windows_alone) heads.rotary_dim = 0, heads.qk_norm = QkNorm::none;
    return heads;
  }

  AttentionKind in_window(const char* key) {
    if (m_.latent)
      p_.fail("layer_types", "latent attention (kv_lora_rank) in windows is a layer that Weir does not know");
    HeadAttention heads = m_.heads;
    const std::int64_t window = needed(p_, {key}, max_positions);
    if (window < m_.positions) heads.window = window;
    return heads;
  }

  Params& p_;
  const Draft& m_;
  std::vector<std::string> unknown_;  // each is told once
};

}  // namespace

void give_layers_their_attention(Params& p, Draft& m) {
  const std::vector<std::string> types = layer_types_of(p, m);
  LayerTypes kinds(p, m);
  const auto full = [](const std::string& type) { return type == "full_attention"; };
  const bool windows_alone = !types.empty() && std::ranges::none_of(types, full) && !m.linear;
  for (std::size_t i = 0; i < m.layers.size(); ++i)
    m.layers[i].attention = kinds.of(types.empty() || windows_alone ? "full_attention" : types[i]);
  if (windows_alone)
    m.notes.emplace_back(
        "windows in every layer are not modelled: attention and KV cache hold the whole context");
  else if (std::ranges::find(types, "chunked_attention") != types.end())
    m.notes.emplace_back(
        "its chunks of attention_chunk_size tokens are simulated as sliding windows of as many: beyond the "
        "first, tokens of "
        "a chunk attend to half of that on the average");
}

void refuse_unknown_layers(Params& p, const std::string& family) {
  // Keys of families that are known here and of some that are not (Mamba, Jamba, Nemotron-H, MiniMax-01,
  // Gemma 3, LFM2, Kimi Linear).
  static constexpr const char* telling[] = {"kv_lora_rank",
                                            "index_topk",
                                            "qk_norm_type",
                                            "attn_output_gate",
                                            "n_routed_experts",
                                            "num_experts",
                                            "num_local_experts",
                                            "moe_intermediate_size",
                                            "n_shared_experts",
                                            "first_k_dense_replace",
                                            "moe_layer_freq",
                                            "shared_expert_intermediate_size",
                                            "layer_types",
                                            "attention_chunk_size",
                                            "full_attention_interval",
                                            "linear_num_value_heads",
                                            "linear_attn_config",
                                            "attn_type_list",
                                            "layers_block_type",
                                            "hybrid_override_pattern",
                                            "attn_layer_period",
                                            "sliding_window_pattern",
                                            "mamba_num_heads",
                                            "mamba_d_state",
                                            "ssm_state_size",
                                            "state_size",
                                            "conv_L_cache",
                                            "num_kv_shared_layers"};
  for (const char* key : telling)
    if (p.unread(key))
      p.fail(key, fmt::format("says of layers what Weir does not know of a {} (model_type)", family));
}

}  // namespace weir
