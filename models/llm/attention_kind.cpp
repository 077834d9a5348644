#include "models/llm/attention_kind.h"

#include <algorithm>

namespace weir {
namespace {

std::int64_t norm_parameters(const HeadAttention& a) {
  switch (a.qk_norm) {
    case QkNorm::each_head:
      return 2 * a.head_dim;
    case QkNorm::all_heads:
      return (a.query_heads + a.kv_heads) * a.head_dim;
    default:
      return 0;
  }
}

std::int64_t matrices(const HeadAttention& a, std::int64_t hidden) {
  return hidden * (a.projected() + a.queries());
}

std::int64_t matrices(const LatentAttention& a, std::int64_t hidden) {
  const std::int64_t queries = a.heads * a.key_dim();
  const std::int64_t q = a.q_rank > 0 ? a.q_rank * (hidden + queries) : hidden * queries;
  const std::int64_t indexer =
      a.q_rank * a.index_heads * a.index_dim + hidden * (a.index_dim + a.index_heads);
  return q + hidden * a.latent() + a.kv_rank * a.heads * (a.nope_dim + a.value_dim) +
         a.heads * a.value_dim * hidden + indexer;
}

// Q, K, V and the output's gate; a rate and a decay a head.
std::int64_t matrices(const LinearAttention& a, std::int64_t hidden) {
  const std::int64_t gates =
      a.gate_rank > 0 ? a.gate_rank * (2 * hidden + a.keys() + a.values()) : hidden * a.values();
  return hidden * (a.convolved() + a.rates * a.value_heads) + gates + a.values() * hidden;
}

// A channel's step size is made of what leaves the convolution in Mamba, and projected with it in Mamba-2.
std::int64_t matrices(const StateSpace& a, std::int64_t hidden) {
  return hidden * a.projected() + a.inner * (a.selected() + a.step_rank) + a.inner * hidden;
}

std::int64_t matrices(const HybridAttention& a, std::int64_t hidden) {
  return matrices(a.heads, hidden) + matrices(a.states, hidden);
}

std::int64_t matrices(const NoAttention&, std::int64_t) {
  return 0;
}

std::int64_t beside_matrices(const HeadAttention& a, std::int64_t hidden) {
  return (a.qkv_bias ? a.projected() : 0) + (a.o_bias ? hidden : 0) + norm_parameters(a) +
         (a.sinks ? a.query_heads : 0);
}

// Norms of both latents, and the LayerNorm of the indexer's keys.
std::int64_t beside_matrices(const LatentAttention& a, std::int64_t) {
  return a.q_rank + a.kv_rank + 2 * a.index_dim;
}

// The convolution; a bias and a decay a head, or a bias of each decay and a decay a head; the norm of the
// output, which is one head's, but all heads' of lightning attention.
std::int64_t beside_matrices(const LinearAttention& a, std::int64_t) {
  if (a.rates == 0) return a.values();
  const std::int64_t biases = a.gate_rank > 0 ? a.keys() : a.value_heads;
  return a.convolved() * a.convolution + biases + a.value_heads + a.value_dim;
}

// The convolution; a decay, a bias and a share of the input that skips the state, a head or of Mamba a
// channel, whose decays are each element's; norms.
std::int64_t beside_matrices(const StateSpace& a, std::int64_t hidden) {
  const std::int64_t decays = a.heads > 0 ? 3 * a.heads : a.step_rank > 0 ? a.inner * (a.state + 2) : 0;
  return a.convolved() * (a.convolution + (a.convolution_bias ? 1 : 0)) + decays +
         (a.projection_bias ? a.projected() + hidden : 0) + (a.output_norm ? a.inner : 0) +
         (a.inner_norms ? a.selected() : 0);
}

std::int64_t beside_matrices(const HybridAttention& a, std::int64_t hidden) {
  return beside_matrices(a.heads, hidden) + beside_matrices(a.states, hidden);
}

std::int64_t beside_matrices(const NoAttention&, std::int64_t) {
  return 0;
}

HeadCounts heads(const HeadAttention& a) {
  return {a.query_heads, a.kv_heads, a.head_dim};
}
HeadCounts heads(const LatentAttention& a) {
  return {a.heads, 1, a.latent()};
}
HeadCounts heads(const LinearAttention&) {
  return {};
}
HeadCounts heads(const StateSpace&) {
  return {};
}
HeadCounts heads(const HybridAttention& a) {
  return heads(a.heads);
}
HeadCounts heads(const NoAttention&) {
  return {};
}

std::int64_t cached(const HeadAttention& a) {
  return 2 * a.kv_heads * a.head_dim;
}
std::int64_t cached(const LatentAttention& a) {
  return a.latent();
}
std::int64_t cached(const LinearAttention&) {
  return 0;
}
std::int64_t cached(const StateSpace&) {
  return 0;
}
std::int64_t cached(const HybridAttention& a) {
  return cached(a.heads);
}
std::int64_t cached(const NoAttention&) {
  return 0;
}

Kept keeps(const HeadAttention& a) {
  return a.window > 0 ? Kept{.request = a.window * cached(a)} : Kept{.token = cached(a)};
}

// An indexer's key is fp8 with a 32-bit scale to 128 numbers whatever the scenario's types are (vLLM,
// DeepseekV32IndexerCache: head_dim + head_dim // 128 * 4 bytes).
Kept keeps(const LatentAttention& a) {
  return {.token = cached(a), .token_bytes = a.index_dim + a.index_dim / 128 * 4};
}

// The state is fp32 (the configurations' mamba_ssm_dtype), what the convolution still has to see 16 bits.
Kept keeps(const LinearAttention& a) {
  return {.request_bytes = 4 * a.state() + 2 * a.convolved() * std::max<std::int64_t>(0, a.convolution - 1)};
}

// The inputs in the convolution's window have 16 bits; the state has the model's, unless
// mamba_ssm_cache_dtype says otherwise (vLLM, MambaStateDtypeCalculator: "auto").
Kept keeps(const StateSpace& a) {
  return {.request_bytes = a.state_bytes * a.inner * a.state + 2 * a.convolved() * (a.convolution - 1)};
}

Kept keeps(const HybridAttention& a) {
  Kept both = keeps(a.heads);
  both.request_bytes += keeps(a.states).request_bytes;
  return both;
}

Kept keeps(const NoAttention&) {
  return {};
}

// Q K^T, then A V.
double attending(const HeadAttention& a, std::int64_t context) {
  const std::int64_t seen = a.window > 0 ? std::min(a.window, context) : context;
  return 2. * static_cast<double>(a.query_heads * a.head_dim) * static_cast<double>(seen);
}

// Attention over keys and values of each head, or, with an indexer, over latents.
double attending(const LatentAttention& a, std::int64_t context) {
  const auto tokens = static_cast<double>(context);
  if (a.top_k == 0) return static_cast<double>(a.heads * (a.key_dim() + a.value_dim)) * tokens;
  return static_cast<double>(a.heads * (a.latent() + a.kv_rank)) *
             std::min(tokens, static_cast<double>(a.top_k)) +
         static_cast<double>(a.index_heads * a.index_dim) * tokens;
}

// Three products: the state with the key, its update, the state with the query.
double attending(const LinearAttention& a, std::int64_t context) {
  return context > 0 ? 3. * static_cast<double>(a.state()) : 0;
}

// The state's decay, what is added to it, and its product with what reads it.
double attending(const StateSpace& a, std::int64_t context) {
  return context > 0 ? 3. * static_cast<double>(a.inner * a.state) : 0;
}

double attending(const HybridAttention& a, std::int64_t context) {
  return attending(a.heads, context) + attending(a.states, context);
}

double attending(const NoAttention&, std::int64_t) {
  return 0;
}

}  // namespace

HeadCounts heads_of(const AttentionKind& kind) {
  return std::visit([](const auto& a) { return heads(a); }, kind);
}

std::int64_t small_parameters(const AttentionKind& kind, std::int64_t hidden) {
  return std::visit([&](const auto& a) { return beside_matrices(a, hidden); }, kind);
}

std::int64_t attention_parameters(const AttentionKind& kind, std::int64_t hidden) {
  return std::visit([&](const auto& a) { return matrices(a, hidden) + beside_matrices(a, hidden); }, kind);
}

double projection_work(const AttentionKind& kind, std::int64_t hidden) {
  return std::visit([&](const auto& a) { return static_cast<double>(matrices(a, hidden)); }, kind);
}

double attending_work(const AttentionKind& kind, std::int64_t context) {
  return std::visit([&](const auto& a) { return attending(a, context); }, kind);
}

std::int64_t kv_elements(const AttentionKind& kind) {
  return std::visit([](const auto& a) { return cached(a); }, kind);
}

Kept kept(const AttentionKind& kind) {
  return std::visit([](const auto& a) { return keeps(a); }, kind);
}

}  // namespace weir
