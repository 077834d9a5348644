#include "models/llm/architecture.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir {
namespace {

bool quantised(DataType type) {
  return bytes_per_element(type) < 2;
}

DataType type_named(const std::string& name) {
  return data_type_named(name).value_or(DataType::bf16);  // the problem was reported
}

std::int64_t mlp_parameters(const Architecture& m, const LayerKind& layer, std::int64_t experts) {
  if (!layer.has_mlp()) return 0;
  if (layer.moe.experts == 0) {
    const std::int64_t up = layer.intermediate * (m.gated_mlp ? 2 : 1);
    return m.hidden * (up + layer.intermediate) + (m.mlp_bias ? up + m.hidden : 0);
  }
  const std::int64_t router = m.hidden * (layer.moe.experts + (layer.moe.shared_gate ? 1 : 0));
  const std::int64_t matrices = m.gated_mlp ? 3 : 2,
                     width = layer.moe.latent > 0 ? layer.moe.latent : m.hidden;
  const std::int64_t biases =
      layer.moe.bias ? experts * ((matrices - 1) * layer.moe.intermediate + width) : 0;
  const std::int64_t of_router =
      (layer.moe.bias ? layer.moe.experts : 0) + (layer.moe.routing_bias ? layer.moe.experts : 0);
  return router + of_router + biases + 2 * m.hidden * layer.moe.latent +
         matrices * (width * experts * layer.moe.intermediate + m.hidden * layer.moe.shared_intermediate);
}

std::int64_t parameters_with(const Architecture& m, std::int64_t MixtureOfExperts::*experts) {
  const std::int64_t embeddings =
      (m.vocabulary * (m.tied_embeddings ? 1 : 2) + m.learned_positions) * m.hidden;
  std::int64_t sum =
      embeddings + (m.embedding_norm ? 2 : 1) * m.norm_elements() + (m.lm_head_bias ? m.vocabulary : 0);
  for (const LayerKind& layer : m.layers)
    sum += attention_parameters(layer.attention, m.hidden) + mlp_parameters(m, layer, layer.moe.*experts) +
           m.norms_of(layer) * m.norm_elements();
  return sum;
}

}  // namespace

Precision Precision::from(Params& params) {
  // int4 is for weights: they are expanded before they are multiplied.
  static const std::vector<std::string> cached = {"fp32", "bf16", "fp16", "fp8", "int8"};
  static const std::vector<std::string> multiplied = {"fp32", "bf16",      "fp16", "fp8",
                                                      "int8", "fp8_block", "fp4",  "mxfp4"};
  static const std::vector<std::string> all = {"fp32", "bf16",      "fp16", "fp8",  "int8",
                                               "int4", "fp8_block", "fp4",  "mxfp4"};
  Precision p;
  const auto read = [&](Key key, const std::vector<std::string>& known) {
    return type_named(params.choice(key, known, "bf16"));
  };
  p.weights = read(
      {"weights",
       "Type of the linear layers' weights; fewer bits read faster. fp8 is scaled by tensor, fp8_block by "
       "blocks of 128; fp4 is NVFP4."},
      all);
  p.activations = read(
      {"activations", "Type in which GEMMs multiply: decides the tensor-core peak they run at."}, multiplied);
  p.kv_cache = read({"kv_cache", "Type of the KV cache; fewer bits hold more requests."}, cached);
  const std::string between = params.choice(
      {"hidden",
       "Type of what lies between GEMMs: hidden states, payloads of all-reduces, and on an L2 NPU what "
       "attention works in. auto: as activations, but 16 bits at least, which is what vLLM's 8-bit GEMMs "
       "write."},
      {"auto", "fp32", "bf16", "fp16", "fp8", "int8"}, "auto");
  if (between != "auto") p.between = type_named(between);
  const auto of_experts = [&](Key key, std::vector<std::string> known) -> std::optional<DataType> {
    known.insert(known.begin(), "auto");
    const std::string type = params.choice(key, known, "auto");
    return type == "auto" ? std::nullopt : std::optional(type_named(type));
  };
  p.expert_weights = of_experts(
      {"expert_weights",
       "Type of the routed experts' weights; auto: as weights. gpt-oss has mxfp4 experts in a bf16 model."},
      all);
  p.expert_activations = of_experts(
      {"expert_activations", "Type in which routed experts multiply; auto: as activations."}, multiplied);
  return p;
}

// vLLM's 8-bit GEMMs write the model's own 16-bit type (Fp8LinearMethod: out_dtype =
// torch.get_default_dtype()), and quantise their input on the way in.
DataType Precision::unquantised() const {
  if (!quantised(activations)) return activations;
  return quantised(weights) ? DataType::bf16 : weights;
}

DataType Precision::hidden() const {
  return between.value_or(unquantised());
}

// vLLM quantises linear layers and experts only: Fp8Config.get_quant_method gives ParallelLMHead and the
// embedding none, and models build their router with quant_config=None ("Gate always runs at half / full
// precision for now"). TensorRT-LLM's checkpoints likewise exclude lm_head and routers.
DataType Precision::unquantised_weights() const {
  return quantised(weights) ? unquantised() : weights;
}

// A layer that lacks attention or MLP lacks its norms.
std::int64_t Architecture::norms_of(const LayerKind& layer) const {
  if (layer.has_attention() && layer.has_mlp()) return block_norms;
  return layer.has_attention() || layer.has_mlp() ? (block_norms + 1) / 2 : 0;
}

std::vector<LayerKind> Architecture::layer_kinds() const {
  std::vector<LayerKind> kinds;
  for (const LayerKind& layer : layers)
    if (std::ranges::find(kinds, layer) == kinds.end()) kinds.push_back(layer);
  return kinds;
}

std::int64_t Architecture::most(std::int64_t (*of)(const LayerKind&)) const {
  std::int64_t most = 0;
  for (const LayerKind& layer : layers) most = std::max(most, of(layer));
  return most;
}

std::int64_t Architecture::most_experts() const {
  return most([](const LayerKind& layer) { return layer.moe.experts; });
}

HeadCounts Architecture::most_heads() const {
  HeadCounts most;
  for (const LayerKind& layer : layers) {
    const HeadCounts heads = heads_of(layer.attention);
    most = {std::max(most.query, heads.query), std::max(most.kv, heads.kv), std::max(most.dim, heads.dim)};
  }
  return most;
}

std::int64_t Architecture::kv_elements_per_token() const {
  std::int64_t sum = 0;
  for (const LayerKind& layer : layers) sum += kv_elements(layer.attention);
  return sum;
}

std::int64_t Architecture::parameters() const {
  return parameters_with(*this, &MixtureOfExperts::experts);
}

std::int64_t Architecture::active_parameters() const {
  return parameters_with(*this, &MixtureOfExperts::active);
}

}  // namespace weir
