#pragma once
// How the tokens of a layer see each other: its kind of attention, and what follows from it alone. Layers of
// one model may differ in it. Sizes are the model's; nothing here knows of ranks, types or batches.
#include <cstdint>
#include <variant>

namespace weir {

enum class QkNorm {
  none,
  each_head,  // Qwen3: RMSNorm on each head of Q and K
  all_heads   // MiniMax: one over all heads, so that tensor-parallel ranks add up squares
};

// Heads that have keys and values, or share them in groups.
struct HeadAttention {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // = query_heads: MHA; 1: MQA; between: GQA
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;  // of head_dim; 0: learned positions (OPT, GPT), ALiBi or none
  bool qkv_bias = false, o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool operator==(const HeadAttention&) const = default;
};

using AttentionKind = std::variant<HeadAttention>;

// The heads of a layer as a memory that attends to them sees them.
struct HeadCounts {
  std::int64_t query = 0, kv = 0, dim = 0;
};
HeadCounts heads_of(const AttentionKind& kind);

// Weights and biases, in a model of this hidden size.
std::int64_t attention_parameters(const AttentionKind& kind, std::int64_t hidden);
// Norms and biases among them: what is never quantised and is in no matrix.
std::int64_t small_parameters(const AttentionKind& kind, std::int64_t hidden);
// What the KV cache holds of a token, once.
std::int64_t kv_elements(const AttentionKind& kind);
// Multiply-adds of a token's projections, and of attending to a context of so many tokens.
double projection_work(const AttentionKind& kind, std::int64_t hidden);
double attending_work(const AttentionKind& kind, std::int64_t context);

}  // namespace weir
