// Operators of one rank of two, worked out by hand from widths that are all unlike: bytes a row, sizes of
// matrices, and whose rows they have.
#include <map>

#include "test/models/llm/layers_by_hand.h"
#include "test/models/llm/stage_operators.h"

namespace weir::test::operators_by_hand {
namespace {

using stage_graph::matrix_of;
using namespace by_hand;

class Made {
 public:
  explicit Made(const Architecture& model, const Sharding& cut = {.tensor = 2},
                const Precision& precision = {})
      : stage_(build_stage(model, precision, cut, 0)) {
    for (const Operator* op : operators_of(stage_)) by_name_[op->name].push_back(op);
  }
  bool has(const char* name) const { return by_name_.contains(name); }
  const Operator& one(const char* name) const {
    INFO(name);
    REQUIRE(by_name_.contains(name));
    REQUIRE(by_name_.at(name).size() == 1);
    return *by_name_.at(name)[0];
  }
  const std::vector<const Operator*>& all(const char* name) const { return by_name_.at(name); }
  double bytes(const char* name) const { return stage_graph::bytes_per_row(one(name)).value(); }
  std::pair<int, int> matrix(const char* name) const {
    const Gemm& gemm = *matrix_of(one(name));
    return {static_cast<int>(gemm.in), static_cast<int>(gemm.out)};
  }
  Rows rows(const char* name) const { return one(name).rows; }

 private:
  StageGraph stage_;
  std::map<std::string, std::vector<const Operator*>> by_name_;
};

using Size = std::pair<int, int>;

}  // namespace

TEST_CASE("operators by hand: linear attention") {
  const Made delta(one_layer(linear()));
  CHECK(delta.matrix("linear_qkvz_proj") == Size{100, 41 + 21});
  CHECK(delta.matrix("linear_ba_proj") == Size{100, 2 * 3});
  CHECK(delta.bytes("linear_convolution") == 2 * 41 * 2);
  // Each of 3 heads has 7 keys, 6 values, a row of 64 in 32 and 16 bits, and two states of a chunk of 64.
  CHECK(delta.bytes("linear_chunks") == Approx(2 * 3 * (7 * 5 + 6 * 7 + 6 * 64 + 2 * 5 * 7 / 64.)));
  CHECK(delta.rows("linear_chunks") == Rows::prompt_tokens);
  // Two earlier inputs there and back, this one and what it yields; the state of 32 bits there and back.
  CHECK(delta.bytes("linear_step") == 2 * (2 * 41 * 2 + 41 + 21) + 2 * 4 * 105);
  CHECK(delta.rows("linear_step") == Rows::decodes);
  CHECK(delta.bytes("linear_norm") == 3 * 21 * 2);
  CHECK(delta.matrix("o_proj") == Size{21, 100});
  CHECK_FALSE(delta.has("linear_gates_down"));

  LinearAttention kimi = linear();
  kimi.gate_rank = 8, kimi.rates = 1;
  const Made gated(one_layer(kimi));
  CHECK(gated.matrix("linear_qkvz_proj") == Size{100, 41});
  CHECK(gated.matrix("linear_gates_down") == Size{100, 16});
  CHECK(gated.matrix("linear_gates_up") == Size{8, 10 + 21});
  CHECK(gated.matrix("linear_ba_proj") == Size{100, 3});

  LinearAttention lightning = linear();
  lightning.convolution = lightning.rates = 0;
  const Made plain(one_layer(lightning));
  CHECK_FALSE((plain.has("linear_ba_proj") || plain.has("linear_convolution")));
  CHECK(plain.bytes("linear_step") == 2 * (41 + 21) + 2 * 4 * 105);
}

// Mamba-2 on a rank: 12 channels of 6 numbers, 2 heads, 1 group: 24 are convolved, 38 projected.
TEST_CASE("operators by hand: state spaces") {
  StateSpace two{.inner = 24, .state = 6, .heads = 4, .groups = 2, .convolution = 4, .state_bytes = 4};
  const Made mamba2(one_layer(two));
  CHECK(mamba2.matrix("ssm_in_proj") == Size{100, 12 + 24 + 2});
  CHECK(mamba2.bytes("ssm_convolution") == 2 * 2 * 24 * 4);
  CHECK(mamba2.bytes("ssm_scan") == Approx(2 * (3 * 12 + 4 * 6 + 4 * 12 * 6 / 256.)));
  CHECK(mamba2.rows("ssm_scan") == Rows::prompt_tokens);
  CHECK(mamba2.bytes("ssm_step") == 2 * (24 + 12) + 2 * 4 * 12 * 6);
  CHECK(mamba2.rows("ssm_step") == Rows::decodes);
  CHECK(mamba2.bytes("ssm_gate") == 2 * 2 * 12);
  CHECK(mamba2.matrix("o_proj") == Size{12, 100});
  two.output_norm = true;
  CHECK(Made(one_layer(two)).bytes("ssm_gate") == 2 * 3 * 12);

  // Mamba: 12 channels, gated, and step sizes through 5 numbers: 5 + 2 x 6 select.
  StateSpace one{.inner = 24, .state = 6, .step_rank = 5, .convolution = 4};
  const Made mamba(one_layer(one));
  CHECK(mamba.matrix("ssm_in_proj") == Size{100, 24});
  CHECK(mamba.matrix("ssm_x_proj") == Size{12, 17});
  CHECK(mamba.matrix("ssm_dt_proj") == Size{5, 12});
  CHECK(mamba.bytes("ssm_scan") == 2 * (4 * 12 + 2 * 6));
  CHECK(mamba.bytes("ssm_step") == 2 * (12 + 12) + 2 * 2 * 12 * 6);
  CHECK(std::ranges::count_if(mamba.all("all_reduce"), [](const Operator* op) {
          return stage_graph::bytes_per_row(*op) == Bytes(2 * 17) && op->as<Communication>()->devices == 2;
        }) == 1);
  CHECK_FALSE(mamba.has("ssm_norm"));
  one.inner_norms = true;
  CHECK(Made(one_layer(one)).bytes("ssm_norm") == 2 * 2 * 17);

  const Made both(one_layer(HybridAttention{heads(), two}));
  CHECK(both.bytes("mixer_sum") == 2 * 3 * 100);
  CHECK((both.has("attention") && both.has("ssm_step")));
}

TEST_CASE("operators by hand: heads, their gates and their norm over all ranks") {
  HeadAttention a = heads();
  a.qk_norm = QkNorm::all_heads;
  const Made normed(one_layer(a));
  CHECK(normed.matrix("qkv_proj") == Size{100, 30 + 2 * 10});
  CHECK(normed.bytes("qk_squares") == 2 * 40);
  CHECK(normed.bytes("qk_norm") == 2 * 2 * 40);
  CHECK(normed.bytes("rotary_emb") == 2 * 2 * 4 * 4);
  CHECK_FALSE(normed.has("output_gate"));
  CHECK_FALSE(Made(one_layer(a), {}).has("qk_squares"));
  a.output_gate = OutputGate::each_head;
  CHECK(Made(one_layer(a)).bytes("output_gate") == 2 * (2 * 30 + 3));
  CHECK(Made(one_layer(a)).matrix("qkv_proj") == Size{100, 30 + 3 + 2 * 10});
  a.output_gate = OutputGate::each_element;
  CHECK(Made(one_layer(a)).bytes("output_gate") == 2 * (2 * 30 + 30));
  a.one_key_and_value = true;
  CHECK(Made(one_layer(a)).matrix("qkv_proj") == Size{100, 30 + 30 + 10});
}

// A rank has 3 heads with keys of 8 + 4, over latents of 16 + 4.
TEST_CASE("operators by hand: latents") {
  const Made made(one_layer(latents()));
  CHECK(made.matrix("mla_down_proj") == Size{100, 10 + 20});
  CHECK(made.bytes("mla_norm") == 2 * 2 * (10 + 16));
  CHECK(made.matrix("mla_q_proj") == Size{10, 3 * 12});
  CHECK(made.bytes("mla_rotary") == 2 * 2 * (3 + 1) * 4);
  CHECK(made.matrix("mla_kv_proj") == Size{16, 3 * (8 + 12)});
  CHECK(made.rows("mla_kv_proj") == Rows::prompt_contexts);
  CHECK(made.matrix("mla_absorb") == Size{8, 16});
  CHECK(made.matrix("mla_values") == Size{16, 12});
  for (const char* name : {"mla_absorb", "mla_values"}) {
    CHECK(made.one(name).as<Gemm>()->matrices == 3);
    CHECK(made.rows(name) == Rows::decodes);
  }
  CHECK(made.matrix("mla_o_proj") == Size{3 * 12, 100});
  REQUIRE(made.all("attention").size() == 2);
  const Operator &prompts = *made.all("attention")[0], &decodes = *made.all("attention")[1];
  CHECK((prompts.rows == Rows::prompt_tokens && decodes.rows == Rows::decodes));
  CHECK(*prompts.as<Attention>() == Attention{.query_heads = 3,
                                              .kv_heads = 3,
                                              .head_dim = 12,
                                              .keys = Attention::Keys::expanded,
                                              .value_dim = 12});
  CHECK(
      *decodes.as<Attention>() ==
      Attention{
          .query_heads = 3, .kv_heads = 1, .head_dim = 20, .keys = Attention::Keys::latent, .value_dim = 16});
  LatentAttention at_once = latents();
  at_once.q_rank = 0;
  const Made direct(one_layer(at_once));
  CHECK(direct.matrix("mla_down_proj") == Size{100, 3 * 12 + 20});
  CHECK(direct.bytes("mla_norm") == 2 * 2 * 16);
  CHECK_FALSE(direct.has("mla_q_proj"));
}

TEST_CASE("operators by hand: an indexer, which every rank has whole") {
  LatentAttention a = latents();
  a.index_heads = 3, a.index_dim = 128, a.top_k = 50;
  const Made made(one_layer(a));
  CHECK(made.matrix("dsa_q_proj") == Size{10, 3 * 128});
  CHECK(made.matrix("dsa_k_proj") == Size{100, 128 + 3});
  CHECK(made.bytes("dsa_norm") == 2 * 2 * 128);
  CHECK(made.bytes("dsa_rotary") == 2 * 2 * (3 + 1) * 4);
  CHECK(made.bytes("dsa_quantise") == 2 * 1.5 * 3 * 128);
  CHECK(made.bytes("dsa_cache") == 2 * 1.5 * 128);
  CHECK(made.bytes("dsa_top_k") == 4 * 50);
  CHECK(made.bytes("dsa_places") == 2 * 4 * 50);
  CHECK(*made.one("dsa_scores").as<Attention>() == Attention{.query_heads = 3,
                                                             .kv_heads = 1,
                                                             .head_dim = 128,
                                                             .kv_cache = DataType::fp8,
                                                             .keys = Attention::Keys::index});
  CHECK(made.one("attention").as<Attention>()->window == 50);
  CHECK(made.rows("attention") == Rows::tokens);
  CHECK(made.rows("mla_absorb") == Rows::tokens);
  CHECK_FALSE(made.has("mla_kv_proj"));
  a.index_heads = a.index_dim = 0;  // the layer before it has one
  const Made behind(one_layer(a));
  CHECK(behind.one("attention").as<Attention>()->window == 50);
  CHECK_FALSE((behind.has("dsa_scores") || behind.has("mla_kv_proj")));
}

// 2 tensor ranks x 3 data ranks, 3 groups of experts of 2 ranks each: 4 experts of half their width, 8, and
// 4 / 3 of a token's. Experts see 40 numbers of the hidden 100.
TEST_CASE("operators by hand: experts of a latent mixture, shared by data ranks") {
  MixtureOfExperts moe = experts();
  moe.latent = 40;
  Sharding cut{.tensor = 2, .expert = 3, .attention_data = 3};
  const Made made(one_layer(heads(), moe), cut);
  CHECK(made.matrix("moe_router") == Size{100, 12});
  CHECK(made.rows("moe_router") == Rows::tokens);
  CHECK(made.matrix("moe_latent_down") == Size{100, 40});
  CHECK(made.matrix("moe_gate_up") == Size{40, 2 * 8});
  CHECK(made.matrix("moe_down") == Size{8, 40});
  CHECK(made.matrix("moe_latent_up") == Size{40, 100});
  const auto* up = made.one("moe_gate_up").as<GroupedGemm>();
  CHECK((up->here == 4 && up->active == 4 && up->total == 12));
  CHECK(made.bytes("moe_act") == Approx(2 * 4 / 3. * (16 + 8)));
  CHECK(made.bytes("moe_sum") == Approx(2 * (4 / 3. + 1) * 40));
  for (const char* name : {"moe_dispatch", "moe_gate_up", "moe_act", "moe_down", "moe_sum", "moe_combine"})
    CHECK(made.rows(name) == Rows::routed);
  for (const auto& [name, how] :
       {std::pair{"moe_dispatch", Collective::all_gather}, {"moe_combine", Collective::reduce_scatter}})
    CHECK(*made.one(name).as<Communication>() ==
          Communication{how, Bytes(2 * 40), 6, Communication::Among::stage});
  CHECK(made.bytes("moe_shared_sum") == 2 * 3 * 100);
  CHECK(made.matrix("gate_up_proj") == Size{100, 32});
  CHECK(made.matrix("down_proj") == Size{16, 100});

  // Sent to whole experts over all six ranks, 2 of each and 2 / 3 of a token's: the sum is a part of them.
  cut.expert = 6;
  cut.experts.communication = ExpertSharing::Communication::deepep;
  const Made deepep(one_layer(heads(), moe), cut);
  CHECK(deepep.bytes("moe_sum") == Approx(2 * 2 * 4 / 6. * 40));
  CHECK(deepep.rows("moe_sum") == Rows::routed_prompts);
  CHECK(deepep.matrix("moe_gate_up") == Size{40, 2 * 16});
  REQUIRE(deepep.all("moe_dispatch").size() == 2);
  const Operator &prompts = *deepep.all("moe_dispatch")[0], &decodes = *deepep.all("moe_dispatch")[1];
  CHECK((prompts.rows == Rows::routed_prompts && decodes.rows == Rows::routed_decodes));
  CHECK(prompts.as<Communication>()->experts == ExpertTraffic{ExchangeMethod::normal, false, 12, 4});
  CHECK(decodes.as<Communication>()->experts == ExpertTraffic{ExchangeMethod::low_latency, false, 12, 4});
  CHECK(deepep.all("moe_combine")[1]->as<Communication>()->experts->back);
  cut.experts.communication = ExpertSharing::Communication::nvlink_all_to_all;
  const Made nvlink(one_layer(heads(), moe), cut);
  CHECK(nvlink.bytes("moe_sum") == Approx(2 * 2 * 4 / 6. * 40));
  CHECK(nvlink.rows("moe_sum") == Rows::routed);
  // A redundant expert on each rank: three of them there, and loads that say so.
  cut.experts.redundant = 6;
  const Made redundant(one_layer(heads(), moe), cut);
  CHECK(redundant.one("moe_gate_up").as<GroupedGemm>()->here == 3);
  CHECK(redundant.one("moe_gate_up").as<GroupedGemm>()->loads->spec().ranks == 6);
}

TEST_CASE("operators by hand: experts without gates or data ranks, and with a shared one") {
  Architecture m = one_layer(heads(), experts());
  m.gated_mlp = false;
  const Made made(m, {.tensor = 4, .expert = 2, .pad_heads = true});
  CHECK(made.matrix("moe_gate_up") == Size{100, 8});
  CHECK(made.bytes("moe_act") == 2 * 2 * (8 + 8));
  CHECK(made.bytes("moe_sum") == 2 * (2 + 2) * 100);  // the shared expert's too
  CHECK(made.rows("moe_sum") == Rows::tokens);
  CHECK(made.matrix("gate_up_proj") == Size{100, 8});
}

}  // namespace weir::test::operators_by_hand
