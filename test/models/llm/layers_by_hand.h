#pragma once
// A model of one layer whose widths are all unlike, cut over two ranks by tests that work by hand.
#include "models/llm/operator_graph.h"

namespace weir::test::by_hand {

inline Architecture one_layer(const AttentionKind& kind, const MixtureOfExperts& moe = {}) {
  Architecture m;
  m.name = "by hand";
  m.hidden = 100;
  m.vocabulary = 640;
  m.layers = {{.intermediate = moe.experts > 0 ? 0 : 64, .moe = moe, .attention = kind}};
  return m;
}

// A rank has 2 heads of keys and 3 of values: 10 and 21 elements, 41 that are convolved, states of 105.
inline LinearAttention linear() {
  return {.key_heads = 4, .value_heads = 6, .key_dim = 5, .value_dim = 7, .convolution = 3};
}

// A rank has 3 heads of queries and one of keys and values.
inline HeadAttention heads() {
  HeadAttention a;
  a.query_heads = 6, a.kv_heads = 2, a.head_dim = 10, a.rotary_dim = 4;
  return a;
}

inline LatentAttention latents() {
  return {.heads = 6, .q_rank = 10, .kv_rank = 16, .rope_dim = 4, .nope_dim = 8, .value_dim = 12};
}

inline MixtureOfExperts experts() {
  MixtureOfExperts moe;
  moe.experts = 12, moe.active = 4, moe.intermediate = 16, moe.shared_intermediate = 32;
  return moe;
}

}  // namespace weir::test::by_hand
