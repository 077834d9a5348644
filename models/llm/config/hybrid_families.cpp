// Families of which some layers or all keep states instead of caches: Mamba, Mamba-2, Kimi's and MiniMax's
// linear attention, LFM2's convolutions. Layers are named as layer_types.cpp knows them.
#include <fmt/format.h>

#include <algorithm>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

// mamba_dt_rank may be "auto" (MambaConfig): hidden / 16, rounded up.
std::int64_t step_rank(ConfigReader& c, const Draft& m) {
  const std::int64_t automatic = (m.hidden + 15) / 16;
  if (c.has("mamba_dt_rank") && c.automatic("mamba_dt_rank")) return automatic;
  return c.size("mamba_dt_rank", max_width, automatic);
}

std::int32_t bytes_of_state(ConfigReader& c) {
  return c.text("mamba_ssm_cache_dtype", "auto") == "float32" ? 4 : 2;
}

// JambaConfig, MambaConfig.
StateSpace read_mamba(ConfigReader& c, const Draft& m) {
  return {.inner = c.size("mamba_intermediate_size", max_width, m.hidden * c.size("mamba_expand", 64, 2)),
          .state = c.size("mamba_d_state", max_head_dim),
          .step_rank = step_rank(c, m),
          .convolution = c.size("mamba_d_conv", max_head_dim),
          .state_bytes = bytes_of_state(c),
          .convolution_bias = c.flag("mamba_conv_bias", true),
          .projection_bias = c.flag("mamba_proj_bias", false),
          .inner_norms = c.flag("mamba_inner_norms", false)};
}

// BambaConfig, GraniteMoeHybridConfig, FalconH1Config, NemotronHConfig, Mamba2Config.
StateSpace read_mamba2(ConfigReader& c, const Draft& m) {
  StateSpace s{.state = c.size("mamba_d_state", max_head_dim),
               .heads = c.size("mamba_n_heads", max_heads),
               .groups = c.size("mamba_n_groups", max_heads, 1),
               .convolution = c.size("mamba_d_conv", max_head_dim, 4),
               .state_bytes = bytes_of_state(c),
               .convolution_bias = c.flag("mamba_conv_bias", true),
               .projection_bias = c.flag("mamba_proj_bias", false),
               .output_norm = c.flag("mamba_rms_norm", true)};
  const std::int64_t of_hidden = m.hidden * c.size("mamba_expand", 64, 2);
  const bool automatic = !c.has("mamba_d_head") || c.automatic("mamba_d_head");
  s.inner = automatic ? c.size("mamba_d_ssm", max_width, of_hidden)
                      : s.heads * c.size("mamba_d_head", max_head_dim);
  if (s.inner % s.heads != 0)
    c.fail("mamba_n_heads", fmt::format("{} heads do not divide {} channels", s.heads, s.inner));
  else if (s.heads % s.groups != 0)
    c.fail("mamba_n_groups", fmt::format("{} groups do not divide {} heads", s.groups, s.heads));
  return s;
}

// MiniMax-01's attention without softmax: every head has keys of its own.
LinearAttention lightning(const Draft& m) {
  return {.key_heads = m.heads.query_heads,
          .value_heads = m.heads.query_heads,
          .key_dim = m.heads.head_dim,
          .value_dim = m.heads.head_dim,
          .convolution = 0,
          .rates = 0};
}

std::vector<std::string> all(const char* type, const Draft& m) {
  return std::vector<std::string>(m.layers.size(), type);
}

// Layers that are listed by their number, of one type, and the others of another.
std::vector<std::string> listed(const std::vector<std::int64_t>& layers, std::int64_t first, const char* type,
                                const char* others, const Draft& m) {
  std::vector<std::string> types = all(others, m);
  for (const std::int64_t layer : layers) types[static_cast<std::size_t>(layer - first)] = type;
  return types;
}

}  // namespace

void jamba(ConfigReader& c, Draft& m) {
  if (c.count("num_experts", max_experts, 16) == 1)
    dense(c, m);
  else
    experts(c, m);
  m.states = read_mamba(c, m);
  const std::int64_t period = c.size("attn_layer_period", max_layers, 8);
  const std::int64_t offset = c.count("attn_layer_offset", max_layers, 4);
  for (std::int64_t i = 0; i < m.layer_count(); ++i)
    m.layer_types.emplace_back(i % period == offset % period ? "full_attention" : "mamba");
}

// Bamba, Granite 4.
void bamba(ConfigReader& c, Draft& m) {
  experts(c, m);
  m.states = read_mamba2(c, m);
  if (c.has("attn_layer_indices"))
    m.layer_types =
        listed(c.numbers("attn_layer_indices", {0, m.layer_count() - 1}), 0, "full_attention", "mamba", m);
}

void falcon_h1(ConfigReader& c, Draft& m) {
  dense(c, m);
  m.hybrid = HybridAttention{m.heads, read_mamba2(c, m)};
  m.layer_types = all("hybrid", m);
}

void mamba(ConfigReader& c, Draft& m) {
  read_positions(c, m);
  m.states = read_mamba(c, m);
  m.layer_types = all("mamba", m);
}

void mamba2(ConfigReader& c, Draft& m) {
  read_positions(c, m);
  m.states = read_mamba2(c, m);
  m.layer_types = all("mamba", m);
}

// Every layer is a mixer or an MLP, with one norm: a letter a layer, M for Mamba-2, * for attention, - for an
// MLP, E for experts (NemotronHConfig), or a word a layer.
void nemotron_h(ConfigReader& c, Draft& m) {
  m.layer_types = c.words("hybrid_override_pattern");
  if (c.in_file("num_hidden_layers") && std::ssize(m.layer_types) != m.layer_count())
    c.fail("hybrid_override_pattern", fmt::format("expected a letter for each of the {} layers, got {}",
                                                  m.layer_count(), m.layer_types.size()));
  if (std::ssize(m.layer_types) > max_layers) {
    c.fail("hybrid_override_pattern", fmt::format("expected at most {} layers", max_layers));
    m.layer_types.resize(max_layers);
  }
  m.layers.resize(std::max<std::size_t>(1, m.layer_types.size()));
  const auto has = [&](const char* letter, const char* word) {
    return std::ranges::any_of(m.layer_types,
                               [&](const auto& type) { return type == letter || type == word; });
  };
  const std::int64_t width = has("-", "mlp") ? c.size("intermediate_size", max_intermediate) : 0;
  MixtureOfExperts moe;
  if (has("E", "moe")) {
    moe = read_experts(c, m);
    moe.routing_bias = true;
    moe.latent = c.count("moe_latent_size", max_width, 0);
  }
  for (std::size_t i = 0; i < m.layer_types.size(); ++i) {
    std::string& type = m.layer_types[i];
    if (type == "-" || type == "mlp") m.layers[i].intermediate = width;
    if (type == "E" || type == "moe") m.layers[i].moe = moe;
    type = type == "M" || type == "mamba"       ? "mamba"
           : type == "*" || type == "attention" ? "full_attention"
           : m.layers[i].has_mlp()              ? "no_attention"
                                                : type;
  }
  if (has("mamba", "mamba")) m.states = read_mamba2(c, m);
  read_biases(c, m);
  read_positions(c, m);
  note_draft_layers(c, m, "num_nextn_predict_layers");
}

// Layers of linear_attn_config are numbered from 1.
void kimi_linear(ConfigReader& c, Draft& m) {
  deepseek(c, m);
  std::optional<Params> p = c.object("linear_attn_config");
  if (!p) return c.fail("linear_attn_config", "required, but missing, in a kimi_linear (model_type)");
  const std::int64_t heads = p->integer({"num_heads", ""}, {1, max_heads});
  const std::int64_t dim = p->integer({"head_dim", ""}, {1, max_head_dim});
  m.linear = LinearAttention{.key_heads = heads,
                             .value_heads = heads,
                             .key_dim = dim,
                             .value_dim = dim,
                             .convolution = p->integer({"short_conv_kernel_size", ""}, {1, max_head_dim}),
                             .rates = 1,
                             .gate_rank = dim};
  std::vector<std::int64_t> layers;
  for (const double layer : p->numbers({"kda_layers", ""}, 0, {1, static_cast<double>(m.layer_count())}))
    layers.push_back(static_cast<std::int64_t>(layer));
  m.layer_types = listed(layers, 1, "linear_attention", "full_attention", m);
  p->close_ignoring_rest();
}

void minimax_01(ConfigReader& c, Draft& m) {
  experts(c, m);
  m.linear = lightning(m);
  for (const std::int64_t type : c.numbers("attn_type_list", {0, 1}))
    m.layer_types.emplace_back(type == 1 ? "full_attention" : "linear_attention");
}

// Ring-linear: the last layer of every group attends to everything, and so do those behind the last whole
// group.
void bailing_moe_linear(ConfigReader& c, Draft& m) {
  experts(c, m);
  m.linear = lightning(m);
  const std::int64_t group = c.size("layer_group_size", max_layers);
  m.layer_types = every(group, "full_attention", "linear_attention", m.layer_count());
  for (std::size_t i = m.layers.size() - m.layers.size() % static_cast<std::size_t>(group);
       i < m.layers.size(); ++i)
    m.layer_types[i] = "full_attention";
}

// OlmoHybridConfig: its delta nets have as many heads as attention, unless the file says otherwise.
void olmo_hybrid(ConfigReader& c, Draft& m) {
  dense(c, m);
  const std::int64_t keys = c.size("linear_num_key_heads", max_heads, m.heads.query_heads);
  const std::int64_t dim =
      c.size("linear_key_head_dim", max_head_dim, std::max<std::int64_t>(1, 3 * m.hidden / (4 * keys)));
  m.linear = LinearAttention{.key_heads = keys,
                             .value_heads = c.size("linear_num_value_heads", max_heads, m.heads.query_heads),
                             .key_dim = dim,
                             .value_dim = c.size("linear_value_head_dim", max_head_dim, 2 * dim),
                             .convolution = c.size("linear_conv_kernel_dim", max_head_dim, 4)};
  m.layer_types = every(4, "full_attention", "linear_attention", m.layer_count());
}

// Lfm2Config: the width of an MLP is two thirds of what is given, rounded up to a multiple.
void lfm2(ConfigReader& c, Draft& m) {
  experts(c, m);
  if (c.flag("block_auto_adjust_ff_dim", false)) {
    const std::int64_t multiple = c.size("block_multiple_of", max_width, 256);
    for (LayerKind& layer : m.layers)
      if (layer.intermediate > 0)
        layer.intermediate = (2 * layer.intermediate / 3 + multiple - 1) / multiple * multiple;
  }
  m.states = StateSpace{.inner = m.hidden,
                        .gates = 2,
                        .convolution = c.size("conv_L_cache", max_head_dim),
                        .convolution_bias = c.flag("conv_bias", false),
                        .projection_bias = c.flag("conv_bias", false)};
  if (c.has("full_attn_idxs"))
    m.layer_types =
        listed(c.numbers("full_attn_idxs", {0, m.layer_count() - 1}), 0, "full_attention", "mamba", m);
}

}  // namespace weir
