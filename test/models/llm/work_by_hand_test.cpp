// Weights, what is kept, multiply-adds and cuts of one layer of unlike widths, by hand.
#include <catch2/catch.hpp>

#include "test/models/llm/layers_by_hand.h"

namespace weir::test::work_by_hand {

using namespace by_hand;

TEST_CASE(
    "weights by hand: with chosen tokens kv_b_proj is kept, of quantised weights beside what decodes use") {
  LatentAttention all = latents(), chosen = latents();
  chosen.top_k = 50;
  const Sharding cut{.tensor = 2};
  const Precision fp8{DataType::fp8, DataType::bf16, DataType::bf16};
  for (const Precision& precision : {Precision{}, fp8})
    CHECK(weight_bytes(one_layer(chosen), precision, cut, 0) ==
          weight_bytes(one_layer(all), precision, cut, 0));
  // A byte each: 100 x 30, 10 x 36, 16 x 60, 36 x 100 and an MLP of 3 x 100 x 32. Two bytes each: copies of
  // 3 x (8 x 16 + 16 x 12), halves of two tables of 640 x 100, 3 norms of 100, and norms of 26.
  CHECK(weight_bytes(one_layer(chosen), fp8, cut, 0).value() ==
        3000 + 360 + 960 + 3600 + 9600 + 2 * (3 * (128 + 192) + 2 * 32000 + 3 * 100 + 26));
}

TEST_CASE("attention by hand: what a layer keeps, and the multiply-adds of attending") {
  HeadAttention window = heads();
  window.window = 50;
  CHECK(attending_work(window, 80) == 2 * 60 * 50);
  CHECK(attending_work(window, 30) == 2 * 60 * 30);
  CHECK((kept(window).request == 50 * 40 && kept(window).token == 0));
  CHECK(kept(heads()).token == 40);
  LatentAttention chosen = latents();
  CHECK(attending_work(chosen, 80) == 6 * (12 + 12) * 80);
  chosen.index_heads = 3, chosen.index_dim = 256, chosen.top_k = 50;
  CHECK(attending_work(chosen, 80) == 6 * (20 + 16) * 50 + 3 * 256 * 80);
  CHECK(attending_work(chosen, 30) == 6 * (20 + 16) * 30 + 3 * 256 * 30);
  CHECK((kept(chosen).token == 20 && kept(chosen).token_bytes == 256 + 8));
  CHECK(attending_work(linear(), 1) == 3 * 42 * 5);
  CHECK(attending_work(linear(), 0) == 0);
  CHECK(kept(linear()).request_bytes == 4 * 42 * 5 + 2 * (2 * 20 + 42) * 2);
  const StateSpace states{
      .inner = 24, .state = 6, .heads = 4, .groups = 2, .convolution = 4, .state_bytes = 4};
  CHECK(attending_work(states, 9) == 3 * 24 * 6);
  CHECK(kept(states).request_bytes == 4 * 24 * 6 + 2 * (24 + 2 * 2 * 6) * 3);
  CHECK(attending_work(HybridAttention{window, states}, 80) == 2 * 60 * 50 + 3 * 24 * 6);
  CHECK((kept(HybridAttention{heads(), states}).token == 40 &&
         kept(HybridAttention{heads(), states}).request_bytes == 576 + 288));
}

TEST_CASE("flops by hand: a token's pass through a latent mixture with a shared expert behind a gate") {
  MixtureOfExperts moe = experts();
  moe.latent = 40, moe.shared_gate = true;
  // Head, projections, router and gate, shared expert, 4 experts, both latent matrices; 60 x 80 keys and
  // values.
  const double adds = 640 * 100 + 100 * (100 + 60) + 100 * 13 + 100 * 3 * 32 + 3 * 40 * 4 * 16 + 2 * 100 * 40;
  CHECK(flops_per_token(one_layer(heads(), moe), 0).value() == 2 * adds);
  CHECK(flops_per_token(one_layer(heads(), moe), 80).value() == 2 * (adds + 2 * 60 * 80));
}

TEST_CASE("sharding by hand: what data ranks and their experts can be, at each bound") {
  MixtureOfExperts moe = experts();
  const Architecture mixture = one_layer(heads(), moe), dense = one_layer(heads());
  const auto problems = [](const Architecture& m, const Sharding& cut) { return sharding_problems(m, cut); };
  using Catch::Contains;
  const auto only = [&](const Architecture& m, const Sharding& cut, const char* words) {
    const std::vector<std::string> all = problems(m, cut);
    REQUIRE(all.size() == 1);
    CHECK_THAT(all[0], Contains(words));
  };
  only(dense, {.tensor = 2, .attention_data = 2}, "attention_data 2: the model has no experts");
  Sharding cut{.tensor = 2, .expert = 3, .attention_data = 3};
  CHECK(problems(mixture, cut).empty());
  cut.experts.communication = ExpertSharing::Communication::deepep;
  only(mixture, cut, "must be all 6 ranks of a stage (is 3)");
  cut.expert = 6;
  CHECK(problems(mixture, cut).empty());
  cut.attention_data = 1, cut.expert = 2;
  only(mixture, cut, "where attention_data is above 1");
  // 12 experts over 3 groups: 24 copies more are all of them in each group, 27 more than that.
  Sharding copied{.tensor = 2, .expert = 3, .attention_data = 3};
  copied.experts.redundant = 24;
  CHECK(problems(mixture, copied).empty());
  copied.experts.redundant = 27;
  only(mixture, copied, "redundant 27");
  copied.experts.redundant = 2;
  only(mixture, copied, "experts with their redundant copies (14)");
  only(dense, {.tensor = 2, .experts = {.redundant = 1}}, "redundant 1: the model has no experts");
  Architecture beside = mixture;
  beside.parallel_block = true;
  only(beside, {.tensor = 2, .expert = 3, .attention_data = 3}, "side by side");
  only(mixture, {.tensor = 2, .expert = 4, .attention_data = 3}, "does not divide the 6 ranks of a stage");
}

// 2 tensor ranks x 3 data ranks: heads over two, 4 of 12 experts at half their width of 16.
TEST_CASE(
    "weights by hand: a rank of several data ranks has its experts, their biases and its tensor share") {
  MixtureOfExperts moe = experts();
  moe.bias = moe.routing_bias = true;
  const Sharding cut{.tensor = 2, .expert = 3, .attention_data = 3};
  const double attention = 100 * 50 + 30 * 100, router = 100 * 12, routed = 4 * (100 * 16 + 8 * 100),
               shared = 100 * 32 + 16 * 100, tables = 2 * 320 * 100, norms = 3 * 100,
               biases = 12 + 4 * (2 * 8 + 100) + 12;
  CHECK(weight_bytes(one_layer(heads(), moe), {}, cut, 0).value() ==
        2 * (attention + router + routed + shared + tables + norms + biases));
}

}  // namespace weir::test::work_by_hand
