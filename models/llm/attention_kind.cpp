#include "models/llm/attention_kind.h"

namespace weir {
namespace {

std::int64_t qkv_width(const HeadAttention& a) {
  return (a.query_heads + 2 * a.kv_heads) * a.head_dim;
}

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
  return hidden * (qkv_width(a) + a.query_heads * a.head_dim);
}

std::int64_t beside_matrices(const HeadAttention& a, std::int64_t hidden) {
  return (a.qkv_bias ? qkv_width(a) : 0) + (a.o_bias ? hidden : 0) + norm_parameters(a);
}

HeadCounts heads(const HeadAttention& a) {
  return {a.query_heads, a.kv_heads, a.head_dim};
}

std::int64_t cached(const HeadAttention& a) {
  return 2 * a.kv_heads * a.head_dim;
}

// Q K^T, then A V.
double attending(const HeadAttention& a, std::int64_t context) {
  return 2. * static_cast<double>(a.query_heads * a.head_dim) * static_cast<double>(context);
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

std::int64_t kv_elements(const AttentionKind& kind) {
  return std::visit([](const auto& a) { return cached(a); }, kind);
}

double projection_work(const AttentionKind& kind, std::int64_t hidden) {
  return std::visit([&](const auto& a) { return static_cast<double>(matrices(a, hidden)); }, kind);
}

double attending_work(const AttentionKind& kind, std::int64_t context) {
  return std::visit([&](const auto& a) { return attending(a, context); }, kind);
}

}  // namespace weir
