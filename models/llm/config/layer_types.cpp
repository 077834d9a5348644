// Layers that attend in different ways: `layer_types`, a word a layer, or what a family's file says instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

using Types = std::vector<std::string>;

// sliding_window_pattern: every so manieth layer attends to everything (Gemma 3, Cohere 2), or a letter a
// layer, L for a window, that repeats (EXAONE 4).
Types types_of_pattern(ConfigReader& c, const Draft& m) {
  Types types;
  if (c.text_given("sliding_window_pattern")) {
    const Types letters = c.words("sliding_window_pattern");
    for (std::size_t i = 0; i < m.layers.size() && !letters.empty(); ++i)
      types.emplace_back(letters[i % letters.size()] == "L" ? "sliding_attention" : "full_attention");
    if (!types.empty()) types.back() = "full_attention";  // Exaone4Config
    return types;
  }
  return every(c.size("sliding_window_pattern", max_layers), "full_attention", "sliding_attention",
               m.layer_count());
}

// From this layer on there are windows (Qwen2Config); the layers before attend to everything.
Types types_behind(std::int64_t first, const Draft& m) {
  Types types;
  for (std::int64_t i = 0; i < m.layer_count(); ++i)
    types.emplace_back(i < first ? "full_attention" : "sliding_attention");
  return types;
}

// GPT-Neo: [[["global", "local"], 12]], words of attention_layers.
Types local_and_global(const Types& words) {
  Types types;
  for (const std::string& word : words)
    types.emplace_back(word == "local" ? "sliding_attention" : word == "global" ? "full_attention" : word);
  return types;
}

bool uses_windows(ConfigReader& c) {
  return c.has("sliding_window") && c.flag("use_sliding_window", c.flag("windows_by_default", false));
}

// The layers' types as the file names them, or as its family's code does.
Types layer_types_of(ConfigReader& c, const Draft& m) {
  Types types = m.layer_types;
  const char* key = "layer_types";
  const bool pattern = c.has("sliding_window_pattern") && c.has("sliding_window");
  if (c.in_file(key)) {
    types = c.words(key);
  } else if (c.in_file("attention_layers")) {
    types = local_and_global(c.words(key = "attention_layers"));
  } else if (types.empty() && pattern) {
    types = types_of_pattern(c, m);
  } else if (types.empty() && uses_windows(c)) {
    const std::int64_t first = c.count("max_window_layers", max_layers, 0);
    types = types_behind(c.flag("windows_behind", false) ? first : 0, m);
  }
  // Layers that predict further tokens may be listed behind the others (Step 3.7).
  const std::int64_t drafts = c.count("num_nextn_predict_layers", max_layers, 0);
  if (std::ssize(types) == m.layer_count() + drafts) types.resize(m.layers.size());
  if (types.empty() || std::ssize(types) == m.layer_count()) return types;
  c.fail(key, fmt::format("expected a word for each of the {} layers", m.layer_count()));
  return {};
}

class LayerTypes {
 public:
  LayerTypes(ConfigReader& c, const Draft& m) : c_(c), m_(m) {}

  AttentionKind of(std::size_t layer, const std::string& type) {
    if (type == "full_attention" || type == "attention") return everywhere(layer);
    if (type == "deepseek_sparse_attention" && m_.latent && m_.latent->top_k > 0) return everywhere(layer);
    if (type == "sliding_attention") return in_window(layer, "sliding_window");
    if (type == "chunked_attention") return in_window(layer, "attention_chunk_size");
    if (type == "linear_attention" && m_.linear) return *m_.linear;
    if ((type == "mamba" || type == "mamba2" || type == "conv") && m_.states) return *m_.states;
    if (type == "hybrid" && m_.hybrid) return *m_.hybrid;
    if (type == "no_attention" && m_.layers[layer].has_mlp()) return NoAttention();
    if (std::ranges::find(unknown_, type) != unknown_.end()) return everywhere(layer);  // told once
    unknown_.push_back(type);
    c_.fail("layer_types",
            fmt::format("{} has a layer of a kind that Weir does not know in this model_type (got \"{}\", "
                        "known: {})",
                        m_.name, shortened(type, 40), fmt::join(known(), ", ")));
    return everywhere(layer);
  }

 private:
  Types known() const {
    Types words = {"full_attention"};
    if (!m_.latent) words.insert(words.end(), {"sliding_attention", "chunked_attention"});
    if (m_.linear) words.emplace_back("linear_attention");
    if (m_.states) words.emplace_back("mamba");
    return words;
  }

  AttentionKind everywhere(std::size_t layer) const {
    if (m_.latent) {
      LatentAttention latents = *m_.latent;
      if (!m_.has_indexer.empty() && layer < m_.has_indexer.size() && !m_.has_indexer[layer])
        latents.index_heads = latents.index_dim = 0;
      return latents;
    }
    HeadAttention heads = of_layer(m_.heads, layer);
    if (m_.rotary_in_windows_alone) heads.rotary_dim = 0, heads.qk_norm = QkNorm::none;
    return heads;
  }

  HeadAttention of_layer(HeadAttention heads, std::size_t layer) const {
    if (layer < m_.query_heads.size()) heads.query_heads = m_.query_heads[layer];
    return heads;
  }

  AttentionKind in_window(std::size_t layer, const char* key) {
    if (m_.latent)
      c_.fail("layer_types", "latent attention (kv_lora_rank) in windows is a layer that Weir does not know");
    HeadAttention heads =
        of_layer(m_.heads_in_windows.query_heads > 0 ? m_.heads_in_windows : m_.heads, layer);
    const std::int64_t window = c_.size(key, max_positions);
    if (window < m_.positions) heads.window = window;
    return heads;
  }

  ConfigReader& c_;
  const Draft& m_;
  Types unknown_;  // each is told once
};

bool is_window(const LayerKind& layer) {
  const auto* heads = std::get_if<HeadAttention>(&layer.attention);
  return heads && heads->window > 0;
}

}  // namespace

// Where each layer has a window, attention and cache hold the whole context: a pool of KV blocks would have
// nothing to hold.
void give_layers_their_attention(ConfigReader& c, Draft& m) {
  if (m.layers_attend) return;
  const Types types = layer_types_of(c, m);
  LayerTypes kinds(c, m);
  for (std::size_t i = 0; i < m.layers.size(); ++i)
    m.layers[i].attention = kinds.of(i, types.empty() ? "full_attention" : types[i]);
  if (std::ranges::all_of(m.layers, is_window)) {
    m.notes.push_back(
        fmt::format("its sliding window of {} tokens, in every layer, is not modelled: attention "
                    "and KV cache hold the whole context",
                    std::get<HeadAttention>(m.layers.front().attention).window));
    for (LayerKind& layer : m.layers) std::get<HeadAttention>(layer.attention).window = 0;
  } else if (std::ranges::find(types, "chunked_attention") != types.end()) {
    m.notes.emplace_back(
        "its chunks of attention_chunk_size tokens are simulated as sliding windows of as many: beyond the "
        "first, tokens of a chunk attend to half of that on the average");
  }
}

}  // namespace weir
