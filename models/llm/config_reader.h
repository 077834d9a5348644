#pragma once
// The reader that families of config.json share: shared by hugging_face.cpp, frontier_families.cpp and
// layer_types.cpp, used by nobody else.
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "models/llm/architecture.h"

namespace weir {

// Bounds far above any model, low enough that a parameter count stays within 64 bits.
constexpr std::int64_t max_layers = 1 << 12, max_experts = 1 << 10, max_heads = 1 << 12;
constexpr std::int64_t max_head_dim = 1 << 14, max_width = 1 << 18;
constexpr std::int64_t max_intermediate = 1 << 20, max_vocabulary = 1 << 24,
                       max_positions = std::int64_t{1} << 32;

// The result that a family fills. Layers attend with `latent` where it is given, else with `heads`, unless
// their type (layer_types.cpp) says otherwise.
struct Draft : Architecture {
  HeadAttention heads;
  std::optional<LatentAttention> latent = {};
  std::optional<LinearAttention> linear = {};
  std::vector<std::string> layer_types = {};  // by the class's default; none: all attend to everything
  bool rotary_in_windows_alone = false;       // Llama 4: layers that attend to everything have no positions
};

// These files write null for "not given".
std::int64_t given(Params& p, const char* key, std::int64_t max, std::int64_t fallback);
bool given(Params& p, const char* key, bool fallback);
// The first of the names that is there; their families do not agree on one.
std::int64_t needed(Params& p, std::initializer_list<const char*> names, std::int64_t max);

void read_positions(Params& p, Draft& m);
void read_attention_bias(Params& p, Draft& m, bool fallback);
void use_rotary(Params& p, Draft& m, const char* key, double fallback = 1);
MixtureOfExperts read_experts(Params& p, const char* experts, const char* intermediate);
// In every decoder_sparse_step-th layer.
void use_qwen_experts(Params& p, Draft& m, const MixtureOfExperts& moe);
void llama(Params& p, Draft& m);  // a dense one

// Families of frontier models.
void deepseek(Params& p, Draft& m);
void gpt_oss(Params& p, Draft& m);
void llama4(Params& p, Draft& m);
void minimax_m2(Params& p, Draft& m);
void qwen3_5_moe(Params& p, Draft& m);

// Gives each layer its attention.
void give_layers_their_attention(Params& p, Draft& m);
// Keys by which the file speaks of its layers, as far as such keys are known from other families, and nobody
// has read.
void refuse_unknown_layers(Params& p, const std::string& family);

}  // namespace weir
