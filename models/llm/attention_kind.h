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

// Numbers that weigh what attention yields, projected beside Q.
enum class OutputGate {
  none,
  each_head,    // Step 3.5: one number a head
  each_element  // Qwen3.5: as wide as Q
};

// Heads that have keys and values, or share them in groups.
struct HeadAttention {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // = query_heads: MHA; 1: MQA; between: GQA
  std::int64_t head_dim = 0;
  std::int64_t rotary_dim = 0;  // of head_dim; 0: learned positions (OPT, GPT), ALiBi or none
  bool qkv_bias = false, o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  std::int64_t window = 0;  // attends to the last so many tokens, itself among them; 0: to all
  bool sinks = false;       // gpt-oss: a learned score a head beside those of tokens
  OutputGate output_gate = OutputGate::none;
  bool one_key_and_value = false;  // Gemma 4: one projection makes both, the cache has each

  std::int64_t queries() const { return query_heads * head_dim; }
  std::int64_t gate() const {
    return output_gate == OutputGate::none
               ? 0
               : query_heads * (output_gate == OutputGate::each_head ? 1 : head_dim);
  }
  std::int64_t projected() const {  // Q, its gate, K and V
    return queries() + gate() + (one_key_and_value ? 1 : 2) * kv_heads * head_dim;
  }
  bool operator==(const HeadAttention&) const = default;
};

// DeepSeek's multi-head latent attention (arXiv 2405.04434, section 2.1): the cache holds one latent and one
// rotary key of a token, from which every head makes its own keys and values; with an indexer each token
// attends to the top_k that this scores highest (DeepSeek-V3.2, arXiv 2512.02556, section 2). Without one of
// its own, a layer with a top_k takes those that the layer before it took (GLM-5.2).
struct LatentAttention {
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  // of the queries' own latent; 0: they are projected at once
  std::int64_t kv_rank = 0, rope_dim = 0;
  std::int64_t nope_dim = 0, value_dim = 0;     // each head's; its key has rope_dim more
  std::int64_t index_heads = 0, index_dim = 0;  // 0: the layer has no indexer
  std::int64_t top_k = 0;                       // tokens attended to; 0: all

  std::int64_t latent() const { return kv_rank + rope_dim; }
  std::int64_t key_dim() const { return nope_dim + rope_dim; }
  bool operator==(const LatentAttention&) const = default;
};

// Linear attention: a state of key_dim x value_dim a head instead of a cache, behind a short convolution over
// time. Gated delta nets (arXiv 2412.06464; Qwen3-Next, Qwen3.5), Kimi's (arXiv 2510.26692), and without
// convolution and rates MiniMax's lightning attention (arXiv 2501.08313).
struct LinearAttention {
  std::int64_t key_heads = 0, value_heads = 0;  // a state for each of the latter
  std::int64_t key_dim = 0, value_dim = 0;      // of a head
  std::int64_t convolution = 0;                 // tokens that it sees; 0: none
  std::int64_t rates = 2;      // numbers a head and token that decay its state and write into it
  std::int64_t gate_rank = 0;  // Kimi: the output's gate and a decay of each key's element are made through
                               // so many numbers each; 0: a gate as wide as the values, no such decays

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
  std::int64_t convolved() const { return 2 * keys() + values(); }  // Q, K and V
  std::int64_t state() const { return values() * key_dim; }
  bool operator==(const LinearAttention&) const = default;
};

// A selective state space: Mamba (arXiv 2312.00752), Mamba-2 (arXiv 2405.21060) of which channels form heads,
// and without a state a short convolution between gates (LFM2).
struct StateSpace {
  std::int64_t inner = 0;        // channels
  std::int64_t state = 0;        // numbers that each keeps; 0: only what the convolution still has to see
  std::int64_t heads = 0;        // Mamba-2: of channels that decay alike; 0: Mamba
  std::int64_t groups = 0;       // Mamba-2: of heads that read and write their states alike
  std::int64_t step_rank = 0;    // Mamba: width through which the step sizes of channels are made
  std::int64_t gates = 1;        // as wide as inner, and projected with it
  std::int64_t convolution = 0;  // tokens that it sees
  std::int32_t state_bytes = 2;  // a number of the state takes so many
  bool convolution_bias = false, projection_bias = false;
  bool output_norm = false;  // Mamba-2: of what leaves the channels
  bool inner_norms = false;  // Jamba: of step sizes and of what goes in and out of the state

  std::int64_t convolved() const { return inner + 2 * groups * state; }
  std::int64_t projected() const { return gates * inner + convolved() + heads; }
  std::int64_t selected() const { return step_rank > 0 ? step_rank + 2 * state : 0; }
  bool operator==(const StateSpace&) const = default;
};

// Falcon-H1: both see the same input, and what they yield is added.
struct HybridAttention {
  HeadAttention heads;
  StateSpace states;
  bool operator==(const HybridAttention&) const = default;
};

// A layer that is an MLP alone (Nemotron-H).
struct NoAttention {
  bool operator==(const NoAttention&) const = default;
};

using AttentionKind =
    std::variant<HeadAttention, LatentAttention, LinearAttention, StateSpace, HybridAttention, NoAttention>;

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
