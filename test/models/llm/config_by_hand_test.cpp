// Which layers of nine have experts or windows, said in each way that files have for it, at both ends.
#include <catch2/catch.hpp>

#include "test/models/llm/config_files.h"

namespace weir::test::config_by_hand {
namespace {

using Layers = std::vector<int>;

Json mixture(const Json& more) {
  Json config = llama_config();
  config.update({{"model_type", "qwen3_moe"},
                 {"head_dim", 128},
                 {"num_hidden_layers", 9},
                 {"num_experts", 16},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 768}});
  config.update(more);
  return config;
}

Layers with_experts(const Json& more) {
  const Architecture m = read_config(mixture(more));
  Layers found;
  for (std::size_t i = 0; i < m.layers.size(); ++i) {
    if (m.layers[i].moe.experts > 0) found.push_back(static_cast<int>(i));
    CHECK((m.layers[i].moe.experts > 0) == (m.layers[i].intermediate == 0));
  }
  return found;
}

Layers with_windows(const Json& config) {
  const Architecture m = read_config(config);
  Layers found;
  for (std::size_t i = 0; i < m.layers.size(); ++i)
    if (std::get<HeadAttention>(m.layers[i].attention).window > 0) found.push_back(static_cast<int>(i));
  return found;
}

}  // namespace

TEST_CASE("configurations by hand: the layers with experts, by first, last, step, period and list") {
  CHECK(with_experts({{"mlp_only_layers", Json::array()}}) == Layers{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(with_experts({{"first_k_dense_replace", 2}}) == Layers{2, 3, 4, 5, 6, 7, 8});
  CHECK(with_experts({{"moe_layer_end_index", 3}}) == Layers{0, 1, 2, 3});
  CHECK(with_experts({{"moe_layer_freq", 4}}) == Layers{0, 4, 8});
  CHECK(with_experts({{"decoder_sparse_step", 4}}) == Layers{3, 7});
  CHECK(with_experts({{"expert_layer_period", 4}, {"expert_layer_offset", 6}}) == Layers{2, 6});
  CHECK(with_experts({{"mlp_only_layers", {0, 5, 8}}}) == Layers{1, 2, 3, 4, 6, 7});
  CHECK(with_experts({{"moe_layers_enum", "3,4,8"}}) == Layers{3, 4, 8});
  CHECK(with_experts({{"decoder_sparse_step", 3}, {"mlp_only_layers", {5}}}) == Layers{2, 8});
  CHECK(with_experts({{"first_k_dense_replace", 3}, {"moe_layer_freq", 2}}) == Layers{4, 6, 8});
}

TEST_CASE("configurations by hand: a shared expert is so many experts wide, or as wide as is said") {
  const auto shared = [](const Json& more) {
    return read_config(mixture(more)).layers.front().moe.shared_intermediate;
  };
  CHECK(shared(Json::object()) == 0);
  CHECK(shared({{"n_shared_experts", 3}}) == 3 * 768);
  CHECK(shared({{"shared_expert_intermediate_size", 500}}) == 500);
  CHECK(shared({{"n_shared_experts", 3}, {"shared_expert_intermediate_size", 500}}) == 1500);
}

TEST_CASE("configurations by hand: windows from a layer on, of a type each, and not beyond the context") {
  Json config = llama_config();
  config.update({{"model_type", "qwen3"},
                 {"head_dim", 128},
                 {"num_hidden_layers", 5},
                 {"sliding_window", 1024},
                 {"use_sliding_window", true},
                 {"max_window_layers", 3}});
  CHECK(with_windows(config) == Layers{3, 4});
  config["max_window_layers"] = 4;
  CHECK(with_windows(config) == Layers{4});
  config["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention",
                           "full_attention"};
  CHECK(with_windows(config) == Layers{0, 2});
  config["sliding_window"] = 8191;
  CHECK(with_windows(config) == Layers{0, 2});
  config["sliding_window"] = 8192;  // as long as the context
  CHECK(with_windows(config).empty());
}

}  // namespace weir::test::config_by_hand
