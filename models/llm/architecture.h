#pragma once
// A decoder-only transformer as its Hugging Face config.json describes it. Read from the embedded catalog by
// name or from a config.json as it is; nothing here knows of devices, batches or sharding.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/llm/attention_kind.h"
#include "models/llm/config/quantization.h"
#include "sim/core/params.h"

namespace weir {

struct MixtureOfExperts {
  std::int64_t experts = 0;              // 0: a dense MLP
  std::int64_t active = 0;               // experts a token is routed to (top-k)
  std::int64_t intermediate = 0;         // width of one expert
  std::int64_t shared_intermediate = 0;  // width of the shared expert, 0 if none
  bool shared_gate = false;              // Qwen2-MoE: a learned sigmoid weighs the shared expert
  bool routing_bias = false;             // DeepSeek-V3: one an expert, which balances loads
  bool bias = false;                     // gpt-oss: router and experts have biases
  std::int64_t latent = 0;  // Nemotron 3: width that a token is brought to before its experts; 0: hidden
  bool operator==(const MixtureOfExperts&) const = default;
};

// A layer's own part: layers of one model may differ in it.
struct LayerKind {
  std::int64_t intermediate = 0;  // width of the dense MLP; 0 in a mixture of experts, or without an MLP
  MixtureOfExperts moe;
  AttentionKind attention = {};
  GroupSet wide = 0;  // groups of matrices that a quantised checkpoint leaves in 16 bits here
  bool has_mlp() const { return intermediate > 0 || moe.experts > 0; }
  bool has_attention() const { return !std::holds_alternative<NoAttention>(attention); }
  bool operator==(const LayerKind&) const = default;
};

struct Architecture {
  std::string name;
  std::vector<LayerKind> layers;  // from the first to the last
  std::int64_t hidden = 0;
  bool gated_mlp = true;  // SwiGLU and its kin: gate and up projections, of experts too
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  bool mlp_bias = false, lm_head_bias = false;
  std::int64_t learned_positions = 0;  // rows of a learned position table
  bool embedding_norm = false;         // BLOOM: a norm between embedding and first layer
  std::int64_t norm_vectors = 1;       // RMSNorm has scales; LayerNorm biases too, so 2; OLMo neither: 0
  std::int64_t block_norms = 2;        // 1 in some parallel blocks (Falcon-7B), 2 in most; 4 where
                                       // what attention and MLP yield is normed too (Gemma 2)
  bool parallel_block = false;         // Falcon: attention and MLP side by side
  bool mlp_beside_experts = false;     // Gemma 4: a layer's own MLP is what is a shared expert here
  std::int64_t positions = 0;          // longest context the model was made for
  std::optional<Quantization> quantization = {};  // none: the checkpoint has 16 bits
  std::vector<std::string> notes;  // what its config.json says and Weir does not model, for the user to read

  std::int64_t layer_count() const { return std::ssize(layers); }
  std::vector<LayerKind> layer_kinds() const;  // each once, in the order of the first of its kind
  // The most of any layer, and 0 of none.
  std::int64_t most(std::int64_t (*of)(const LayerKind&)) const;
  std::int64_t most_experts() const;
  HeadCounts most_heads() const;           // of any layer, each by itself
  std::int64_t parameters() const;         // total, embeddings included, a tied one once
  std::int64_t active_parameters() const;  // a token's, for a mixture of experts
  std::int64_t norm_elements() const { return hidden * norm_vectors; }  // scales and biases of one
  std::int64_t norms_of(const LayerKind& layer) const;
  std::int64_t kv_elements_per_token() const;  // summed over the layers, one copy
};

std::vector<std::string> architecture_names();
// A catalog name, or the path of a config.json or of the folder that holds one (it has a '/' or ends in
// .json; relative paths are relative to the file being read). Reports to `reading` at `pointer` and returns
// {} when it cannot; describing gives the first of the catalog.
Architecture find_architecture(const std::string& name_or_path, Reading& reading, const std::string& pointer);
// The same, or an object with the keys of a config.json over a "base", a name or a path.
Architecture read_model(const Json& given, Reading& reading, const std::string& pointer);
Json model_schema();
Architecture read_hugging_face_config(const std::filesystem::path& path);  // throws ConfigError

}  // namespace weir
