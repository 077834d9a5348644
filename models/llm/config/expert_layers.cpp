// Which layers have experts: families say it in a dozen ways, and a file may say it in several at once.
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

// Layers that the file lists as dense ones.
std::set<std::int64_t> dense_layers(ConfigReader& c, const Draft& m) {
  const std::vector<std::int64_t> layers = c.numbers("mlp_only_layers", {0, m.layer_count() - 1});
  return {layers.begin(), layers.end()};
}

// Transformers' configurations of 2026 list them: "dense" or "sparse", a word a layer.
void take_out_dense(ConfigReader& c, std::vector<bool>& sparse) {
  const std::vector<std::string> types = c.words("mlp_layer_types");
  if (types.empty()) return;
  if (types.size() != sparse.size())
    return c.fail("mlp_layer_types", fmt::format("expected a word for each of the {} layers", sparse.size()));
  for (std::size_t i = 0; i < types.size(); ++i) sparse[i] = types[i] == "sparse";
}

// K-EXAONE says of each layer whether it has experts, and so do MiMo-V2 and MiniMax-M3 by another key.
std::vector<bool> experts_of_each_layer(ConfigReader& c, const Draft& m) {
  for (const char* key : {"is_moe_layer", "moe_layer_freq"}) {
    if (!c.list_given(key)) continue;
    std::vector<bool> layers = c.flags(key);
    if (std::ssize(layers) == m.layer_count()) return layers;
    if (!layers.empty())
      c.fail(key, fmt::format("expected a number for each of the {} layers", m.layer_count()));
  }
  return std::vector<bool>(m.layers.size(), true);
}

// Step 3.5 lists those with experts in a text: "3,4,5".
std::optional<std::set<std::int64_t>> listed_layers(ConfigReader& c) {
  const char* key = "moe_layers_enum";
  if (!c.text_given(key)) return {};
  std::set<std::int64_t> layers;
  const std::string text = c.text(key, "");
  for (const char *at = text.data(), *end = at + text.size();;) {
    std::int64_t layer = -1;
    const auto [rest, error] = std::from_chars(at, end, layer);
    if (error != std::errc() || layer < 0 || (rest != end && *rest != ',')) {
      c.fail(key, "expected numbers of layers, separated by commas");
      return layers;
    }
    layers.insert(layer);
    if (rest == end) return layers;
    at = rest + 1;
  }
}

}  // namespace

// first_k_dense_replace and moe_layer_freq are DeepSeek's, decoder_sparse_step and mlp_only_layers Qwen's
// (Qwen2MoeDecoderLayer), moe_layer_end_index ERNIE's, expert_layer_period and _offset Jamba's; what a file
// leaves out leaves no layer out.
std::vector<bool> layers_with_experts(ConfigReader& c, const Draft& m) {
  const std::int64_t first = c.count("first_k_dense_replace", m.layer_count(), 0);
  const std::int64_t last = c.count("moe_layer_end_index", max_layers, max_layers);
  const std::vector<bool> every = experts_of_each_layer(c, m);
  const std::int64_t step = c.list_given("moe_layer_freq") ? 1 : c.size("moe_layer_freq", max_layers, 1);
  const std::int64_t sparse_step = c.size("decoder_sparse_step", max_layers, 1);
  const std::int64_t period = c.size("expert_layer_period", max_layers, 1);
  const std::int64_t offset = c.count("expert_layer_offset", max_layers, 0);
  const std::set<std::int64_t> dense = dense_layers(c, m);
  const std::optional<std::set<std::int64_t>> listed = listed_layers(c);
  std::vector<bool> sparse;
  for (std::int64_t i = 0; i < m.layer_count(); ++i)
    sparse.push_back(i >= first && i <= last && i % step == 0 && (i + 1) % sparse_step == 0 &&
                     i % period == offset % period && !dense.contains(i) &&
                     every[static_cast<std::size_t>(i)] && (!listed || listed->contains(i)));
  take_out_dense(c, sparse);
  return sparse;
}

}  // namespace weir
