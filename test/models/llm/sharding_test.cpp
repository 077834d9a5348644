#include <catch2/catch.hpp>

#include "test/models/llm/models.h"

namespace weir {
namespace {

constexpr Precision all_fp32{DataType::fp32, DataType::fp32, DataType::fp32};

// What ranks hold beyond the model's own parameters, by the rules that operator_graph.h and footprint.cpp
// state.
std::int64_t extra_of_attention(const HeadAttention& a, std::int64_t hidden, const Sharding& s) {
  const bool all_heads = a.qk_norm == QkNorm::all_heads;
  const std::int64_t kv =
      a.kv_heads * a.head_dim *
      ((a.one_key_and_value ? 1 : 2) * (hidden + (a.qkv_bias ? 1 : 0)) + (all_heads ? 1 : 0));
  const std::int64_t norms = a.qk_norm == QkNorm::each_head ? 2 * a.head_dim : 0;
  return (s.tensor - 1) * (norms + (a.o_bias ? hidden : 0)) + (kv_copies(a, s) - 1) * kv;
}

// In 16 bits and more, decodes use views of the matrices that make keys and values: no copies are held.
std::int64_t extra_of_attention(const LatentAttention& a, std::int64_t hidden, const Sharding& s) {
  return (s.tensor - 1) * (replicated_matrices(a, hidden) + a.q_rank + a.kv_rank + 2 * a.index_dim);
}

std::int64_t extra_of_attention(const LinearAttention& a, std::int64_t, const Sharding& s) {
  return (s.tensor - 1) * a.value_dim;
}

// Outputs of sums over the ranks are on all of them.
std::int64_t extra_of_attention(const StateSpace& a, std::int64_t hidden, const Sharding& s) {
  const std::int64_t selected = a.inner_norms ? a.selected() : 0;
  return (s.tensor - 1) * (selected + (a.projection_bias ? hidden : 0));
}

std::int64_t extra_of_attention(const HybridAttention& a, std::int64_t hidden, const Sharding& s) {
  return extra_of_attention(a.heads, hidden, s) + extra_of_attention(a.states, hidden, s);
}

std::int64_t extra_of_attention(const NoAttention&, std::int64_t, const Sharding&) {
  return 0;
}

std::int64_t extra_elements(const Architecture& m, const Sharding& s) {
  const std::int64_t copies = s.tensor - 1;
  const std::int64_t norm = m.hidden * m.norm_vectors;
  std::int64_t blocks = 0;
  for (const LayerKind& layer : m.layers) {
    const auto& [intermediate, moe, attention, wide] = layer;
    const bool both = intermediate + moe.experts > 0 && !std::holds_alternative<NoAttention>(attention);
    const std::int64_t norms = both ? m.block_norms : (m.block_norms + 1) / 2;
    const std::int64_t router = moe.experts == 0 ? 0 : m.hidden * (moe.experts + (moe.shared_gate ? 1 : 0));
    const std::int64_t biases = moe.experts * (moe.bias + moe.routing_bias);
    const bool dense_bias = m.mlp_bias && intermediate > 0;
    blocks += copies * (norms * norm + router + biases + (dense_bias ? m.hidden : 0));
    if (moe.bias) blocks += (s.tensor / s.expert - 1) * moe.experts * m.hidden;  // behind sums over ranks
    blocks += std::visit([&](const auto& a) { return extra_of_attention(a, m.hidden, s); }, attention);
  }

  const std::int64_t padding = padded_vocabulary(m, s) - m.vocabulary;
  const bool second_table = !m.tied_embeddings || s.pipeline > 1;
  const std::int64_t tied_copy = m.tied_embeddings && s.pipeline > 1 ? m.vocabulary * m.hidden : 0;
  const std::int64_t other_norms = (m.embedding_norm ? 2 : 1) * norm;
  return blocks + copies * (other_norms + m.learned_positions * m.hidden) + tied_copy +
         padding * (m.hidden * (second_table ? 2 : 1) + (m.lm_head_bias ? 1 : 0));
}

}  // namespace

TEST_CASE("sharding: what all ranks hold is the model, its replicated tensors and the padded vocabulary") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m)) {
      double bytes = 0;
      for (int stage = 0; stage < s.pipeline; ++stage)
        bytes += s.tensor * weight_bytes(m, all_fp32, s, stage).value();
      INFO(m.name << ", " << to_string(s));
      CHECK(bytes == 4. * static_cast<double>(m.parameters() + extra_elements(m, s)));
    }
}

TEST_CASE("sharding: the KV cache of all ranks is the model's, times the ranks that share heads or latents") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m)) {
      double bytes = 0, of_requests = 0, expected = 0, expected_of_requests = 0;
      for (int stage = 0; stage < s.pipeline; ++stage) {
        bytes += s.tensor * kv_bytes_per_token(m, Precision{}, s, stage).value();
        of_requests += s.tensor * kv_bytes_per_request(m, Precision{}, s, stage).value();
      }
      for (const LayerKind& layer : m.layers) {
        const Kept one = kept(layer.attention);
        const auto copies = static_cast<double>(kv_copies(layer.attention, s));
        expected += copies * static_cast<double>(2 * one.token + one.token_bytes);
        expected_of_requests += copies * static_cast<double>(2 * one.request + one.request_bytes);
      }
      INFO(m.name << ", " << to_string(s));
      CHECK(bytes == expected);
      CHECK(of_requests == expected_of_requests);
    }
}

TEST_CASE("sharding: the stages' layers are the model's, and no two differ by more than one") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m)) {
      std::int64_t sum = 0;
      for (int stage = 0; stage < s.pipeline; ++stage) {
        const std::int64_t here = stage_layers(m, s, stage);
        CHECK((here == m.layer_count() / s.pipeline || here == m.layer_count() / s.pipeline + 1));
        CHECK(here >=
              stage_layers(m, s, s.pipeline - 1));  // the last stage has the LM head and no layer more
        sum += here;
      }
      CHECK(sum == m.layer_count());
    }
}

TEST_CASE("sharding: left-over layers go where vLLM puts them") {
  auto split = [](std::int64_t layers, int pipeline) {
    Architecture m;
    m.layers.resize(static_cast<std::size_t>(layers));
    std::vector<std::int64_t> stages;
    for (int i = 0; i < pipeline; ++i) stages.push_back(stage_layers(m, {1, pipeline, 1}, i));
    return stages;
  };
  using Stages = std::vector<std::int64_t>;
  CHECK(split(22, 4) == Stages{5, 6, 6, 5});
  CHECK(split(5, 3) == Stages{2, 2, 1});
  CHECK(split(4, 3) == Stages{1, 2, 1});
  CHECK(split(3, 2) == Stages{2, 1});
  CHECK(split(61, 4) == Stages{15, 15, 16, 15});
}

TEST_CASE("sharding: more tensor ranks never leave more weights on one") {
  for (const Architecture& m : catalog_models())
    for (const Sharding& s : shardings(m)) {
      const Sharding twice{2 * s.tensor, s.pipeline, s.expert};
      if (!sharding_problems(m, twice).empty()) continue;
      INFO(m.name << ", " << to_string(s));
      CHECK(weight_bytes(m, {}, twice, 0) < weight_bytes(m, {}, s, 0));
    }
}

TEST_CASE("sharding: 8-bit weights leave the embedding, the LM head and the norms at 16 bits") {
  // Llama-3.1-8B: 6,979,321,856 elements in linear layers, 1,050,939,392 beside them. The FP8 checkpoint of
  // RedHatAI (Meta-Llama-3.1-8B-Instruct-FP8) is 9.08 GB.
  const Architecture m = catalog_model("llama3.1-8b");
  const Sharding whole;
  CHECK(weight_bytes(m, {}, whole, 0).value() == 2. * 8030261248);
  CHECK(weight_bytes(m, {DataType::fp8, DataType::fp8, DataType::fp8}, whole, 0).value() ==
        6979321856. + 2. * 1050939392);
  CHECK(weight_bytes(m, {DataType::int8, DataType::bf16, DataType::bf16}, whole, 0).value() == 9081200640.);
  CHECK(weight_bytes(m, {DataType::int4, DataType::bf16, DataType::bf16}, whole, 0).value() ==
        6979321856. / 2 + 2. * 1050939392);
  CHECK(kv_bytes_per_token(m, {DataType::bf16, DataType::bf16, DataType::fp8}, whole, 0).value() == 65536);
  // A router stays at 16 bits too: 48 layers of 2048 x 128.
  const Architecture moe = catalog_model("qwen3-30b-a3b");
  const double kept = static_cast<double>(2 * 151936 * 2048 + 2048 + 48 * (2 * 2048 + 2 * 128 + 2048 * 128));
  CHECK(weight_bytes(moe, {DataType::fp8, DataType::bf16, DataType::bf16}, whole, 0).value() ==
        static_cast<double>(moe.parameters()) + kept);
}

TEST_CASE("sharding: a model is cut as far as its heads and widths go, and no further") {
  auto problems = [](const char* model, Sharding s) {
    std::string all;
    for (const std::string& p : sharding_problems(catalog_model(model), s)) all += p + "; ";
    return all;
  };
  CHECK(problems("llama3.1-70b", {8, 80, 1}).empty());
  CHECK(problems("llama3.1-70b", {8, 81, 1}) == "pipeline 81: more stages than the 80 layers; ");
  CHECK(problems("llama3.1-70b", {16, 1, 1}).empty());  // 8 KV heads, each on two ranks
  CHECK(problems("llama3.1-70b", {3, 1, 1}) ==
        "attention heads (64) cannot be divided evenly over 3 tensor ranks; "
        "KV heads (8) cannot be divided evenly over 3 tensor ranks; "
        "intermediate size (28672) cannot be divided evenly over 3 tensor ranks; ");
  CHECK(problems("phi3-medium", {10, 1, 1}).empty());
  CHECK(problems("phi3-medium", {8, 1, 1}) == "KV heads (10) cannot be divided evenly over 8 tensor ranks; ");
  CHECK(problems("phi3-medium", {40, 1, 1}).empty());
  CHECK(problems("qwen2-7b", {7, 1, 1}) ==
        "tensor 7 is no multiple of the 4 KV heads, which it replicates; "
        "intermediate size (18944) cannot be divided evenly over 7 tensor ranks; ");
  CHECK(problems("llama2-7b", {2, 1, 2}) == "expert 2: the model has no experts; ");
  CHECK(problems("mixtral-8x7b", {8, 1, 8}).empty());
  CHECK(problems("mixtral-8x7b", {16, 1, 16}) ==
        "experts (8) cannot be divided evenly over 16 expert groups; ");
  CHECK(problems("mixtral-8x7b", {4, 1, 8}) ==
        "expert 8 does not divide tensor 4: expert groups lie inside the tensor group; ");
  CHECK(problems("qwen3-30b-a3b", {32, 1, 4}).empty());
  CHECK_FALSE(problems("qwen3-30b-a3b", {0, 1, 1}).empty());
  CHECK_FALSE(problems("qwen3-30b-a3b", {1, 1, -1}).empty());
}

TEST_CASE("sharding: padded heads cut any model anywhere, and change no cut that is even") {
  for (const Architecture& m : catalog_models())
    for (const int tensor : {1, 2, 4, 8, 32, 64, 128}) {
      const Sharding strict{.tensor = tensor}, padded{.tensor = tensor, .pad_heads = true};
      CAPTURE(m.name, tensor);
      const HeadCounts heads = heads_of_rank(m.most_heads(), padded);
      CHECK(heads.query * tensor >= m.most_heads().query);
      CHECK((heads.query - 1) * tensor < m.most_heads().query);
      CHECK(heads.kv * tensor >= m.most_heads().kv);
      CHECK(heads.kv >= 1);
      CHECK(heads.kv <= heads.query);
      if (!sharding_problems(m, strict).empty()) continue;
      CHECK(sharding_problems(m, padded).empty());
      CHECK(weight_bytes(m, {}, padded, 0) == weight_bytes(m, {}, strict, 0));
      CHECK(kv_bytes_per_token(m, {}, padded, 0) == kv_bytes_per_token(m, {}, strict, 0));
    }
  // 28 query and 4 KV heads on 32 ranks: one of each, on all of them.
  const Architecture qwen = catalog_model("qwen2-7b");
  CHECK_FALSE(sharding_problems(qwen, {.tensor = 32}).empty());
  CHECK(sharding_problems(qwen, {.tensor = 32, .pad_heads = true}).empty());
  CHECK(kv_bytes_per_token(qwen, {}, {.tensor = 32, .pad_heads = true}, 0).value() == 28. * 2 * 128 * 2);
  CHECK(heads_of_rank({40, 10, 128}, {.tensor = 32, .pad_heads = true}).query == 2);
}

TEST_CASE("sharding: an impossible cut or stage is refused, not simulated") {
  const Architecture m = catalog_model("llama2-7b");
  CHECK_THROWS_AS(build_stage(m, {}, {3, 1, 1}, 0), std::invalid_argument);
  CHECK_THROWS_AS(weight_bytes(m, {}, {3, 1, 1}, 0), std::invalid_argument);
  CHECK_THROWS_AS(build_stage(m, {}, {1, 2, 1}, 2), std::invalid_argument);
  CHECK_THROWS_AS(build_stage(m, {}, {1, 2, 1}, -1), std::invalid_argument);
  CHECK_NOTHROW(build_stage(m, {}, {1, 2, 1}, 1));
}

}  // namespace weir
