#pragma once
// How the tokens of a layer see each other: its kind of attention, and what follows from it alone. Layers of
// one model may differ in it. Sizes are the model's, or a rank's where somebody has cut them; nothing here
// knows of types or batches.
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
  std::int64_t window = 0;   // attends to the last so many tokens, itself among them; 0: to all
  bool sinks = false;        // gpt-oss: a learned score a head beside those of tokens
  bool output_gate = false;  // Qwen3.5: what is as wide as Q weighs the output; both are one projection
  bool operator==(const HeadAttention&) const = default;
};

// DeepSeek's multi-head latent attention (arXiv 2405.04434, section 2.1): the cache holds one latent and one
// rotary key of a token, from which every head makes its own keys and values; with an indexer each token
// attends to the top_k that this scores highest (DeepSeek-V3.2, arXiv 2512.02556, section 2).
struct LatentAttention {
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  // of the queries' own latent; 0: they are projected at once
  std::int64_t kv_rank = 0, rope_dim = 0;
  std::int64_t nope_dim = 0, value_dim = 0;                // of a head, with rope_dim more of its key
  std::int64_t index_heads = 0, index_dim = 0, top_k = 0;  // of the indexer; 0: none

  std::int64_t latent() const { return kv_rank + rope_dim; }
  std::int64_t key_dim() const { return nope_dim + rope_dim; }
  bool operator==(const LatentAttention&) const = default;
};

// A gated delta net (arXiv 2412.06464; Qwen3-Next, Qwen3.5): a state of key_dim x value_dim a head instead of
// a cache, behind a short convolution over time.
struct LinearAttention {
  std::int64_t key_heads = 0, value_heads = 0;  // a state for each of the latter
  std::int64_t key_dim = 0, value_dim = 0;      // of a head
  std::int64_t convolution = 0;                 // tokens that it sees

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
  std::int64_t convolved() const { return 2 * keys() + values(); }  // Q, K and V
  std::int64_t state() const { return values() * key_dim; }
  bool operator==(const LinearAttention&) const = default;
};

using AttentionKind = std::variant<HeadAttention, LatentAttention, LinearAttention>;

// The heads of a layer as a memory that attends to them sees them: latents are one that all share, and linear
// attention has none.
struct HeadCounts {
  std::int64_t query = 0, kv = 0, dim = 0;
};
HeadCounts heads_of(const AttentionKind& kind);

// Weights and biases, in a model of this hidden size.
std::int64_t attention_parameters(const AttentionKind& kind, std::int64_t hidden);
// Norms and biases among them: what is never quantised and is in no matrix.
std::int64_t small_parameters(const AttentionKind& kind, std::int64_t hidden);
// Multiply-adds of a token's projections, and of attending to a context of so many tokens.
double projection_work(const AttentionKind& kind, std::int64_t hidden);
double attending_work(const AttentionKind& kind, std::int64_t context);

// The memory that layers keep of requests. A window keeps its tokens' keys and values, and no others': they
// are an amount a request, as states are.
struct Kept {
  std::int64_t token = 0;          // elements of the KV cache's type, a token of the context
  std::int64_t request = 0;        // the same, a request
  std::int64_t token_bytes = 0;    // of types that no scenario chooses: keys of indexers ...
  std::int64_t request_bytes = 0;  // ... and states
};
Kept kept(const AttentionKind& kind);
// Elements that a token adds to the cache as it comes, whoever keeps it.
std::int64_t kv_elements(const AttentionKind& kind);

}  // namespace weir
