// Families of which layers differ in their heads, and others that public files of 2026 brought: read, counted
// by hand, or refused with what they have that Weir has not.
#include <catch2/catch.hpp>

#include "models/llm/config/config_reader.h"
#include "test/models/llm/config_files.h"
#include "test/models/llm/models.h"

using namespace weir::test;

namespace weir {
namespace {

Json types(std::size_t layers, std::size_t period, bool last) {
  Json all = Json::array();
  for (std::size_t i = 0; i < layers; ++i)
    all.push_back((last ? (i + 1) % period == 0 : i % period == 0) ? "full_attention" : "sliding_attention");
  return all;
}

// ai-dynamo/aiconfigurator, model_configs/google--gemma-4-26B-A4B_config.json.
Json gemma4() {
  return {{"model_type", "gemma4"},
          {"text_config",
           {{"model_type", "gemma4_text"},
            {"attention_k_eq_v", true},
            {"enable_moe_block", true},
            {"global_head_dim", 512},
            {"head_dim", 256},
            {"hidden_size", 2816},
            {"hidden_size_per_layer_input", 0},
            {"intermediate_size", 2112},
            {"layer_types", types(30, 6, true)},
            {"max_position_embeddings", 262144},
            {"moe_intermediate_size", 704},
            {"num_attention_heads", 16},
            {"num_experts", 128},
            {"num_global_key_value_heads", 2},
            {"num_hidden_layers", 30},
            {"num_key_value_heads", 8},
            {"num_kv_shared_layers", 0},
            {"sliding_window", 1024},
            {"top_k_experts", 8},
            {"vocab_size", 262144}}}};
}

// stepfun-ai/Step-3.5-Flash, config.json; its layers that draft are listed behind the others.
Json step35() {
  std::string listed = "3";
  for (int i = 4; i < 45; ++i) listed += "," + std::to_string(i);
  return {{"model_type", "step3p5"},
          {"attention_other_setting",
           {{"attention_type", "sliding_attention"},
            {"head_dim", 128},
            {"num_attention_groups", 8},
            {"num_attention_heads", 96}}},
          {"head_dim", 128},
          {"hidden_size", 4096},
          {"intermediate_size", 11264},
          {"layer_types", types(48, 4, false)},
          {"max_position_embeddings", 262144},
          {"moe_intermediate_size", 1280},
          {"moe_layers_enum", listed},
          {"moe_num_experts", 288},
          {"moe_top_k", 8},
          {"num_attention_groups", 8},
          {"num_attention_heads", 64},
          {"num_hidden_layers", 45},
          {"num_nextn_predict_layers", 3},
          {"share_expert_dim", 1280},
          {"sliding_window", 512},
          {"use_moe_router_bias", true},
          {"vocab_size", 128896}};
}

// poolside/laguna-XS.2: LagunaConfig's defaults, with the lists of its file.
Json laguna() {
  Json heads = Json::array();
  for (int i = 0; i < 40; ++i) heads.push_back(i % 4 == 0 ? 48 : 64);
  return {{"model_type", "laguna"},
          {"gating", "per-head"},
          {"head_dim", 128},
          {"hidden_size", 2048},
          {"intermediate_size", 8192},
          {"layer_types", types(40, 4, false)},
          {"max_position_embeddings", 262144},
          {"mlp_only_layers", {0}},
          {"moe_intermediate_size", 512},
          {"num_attention_heads", 48},
          {"num_attention_heads_per_layer", heads},
          {"num_experts", 256},
          {"num_experts_per_tok", 8},
          {"num_hidden_layers", 40},
          {"num_key_value_heads", 8},
          {"shared_expert_intermediate_size", 512},
          {"sliding_window", 512},
          {"tie_word_embeddings", false},
          {"vocab_size", 100352}};
}

const HeadAttention& heads_of_layer(const Architecture& m, std::size_t layer) {
  return std::get<HeadAttention>(m.layers[layer].attention);
}

std::int64_t kv_bytes(const Architecture& m) {
  std::int64_t bytes = 0;
  for (const LayerKind& layer : m.layers) bytes += 2 * kept(layer.attention).token;
  return bytes;
}

}  // namespace

TEST_CASE("uneven: Gemma 4's windows have other heads, and one projection makes keys and values elsewhere") {
  const Architecture m = read_config(gemma4());
  const HeadAttention &window = heads_of_layer(m, 0), &everywhere = heads_of_layer(m, 5);
  CHECK((window.kv_heads == 8 && window.head_dim == 256 && window.window == 1024));
  CHECK((everywhere.kv_heads == 2 && everywhere.head_dim == 512 && everywhere.window == 0));
  CHECK(everywhere.rotary_dim == 128);  // a quarter of 512
  CHECK(everywhere.projected() == 16 * 512 + 2 * 512);
  CHECK(window.projected() == 16 * 256 + 2 * 8 * 256);
  CHECK(kv_bytes(m) == 5 * 2 * 2 * 512 * 2);  // the cache has both
  CHECK(kv_bytes_per_request(m, {}, {}, 0).value() == 25. * 1024 * 2 * 8 * 256 * 2);
  CHECK(m.layers[0].moe.shared_intermediate == 2112);  // the dense MLP beside the experts
  CHECK(notes_of_config(gemma4()).find("not read") == std::string::npos);
  Json small = gemma4();
  small["text_config"].erase("hidden_size_per_layer_input");
  CHECK_THAT(problems_of_config(small),
             Catch::Contains("/text_config/hidden_size_per_layer_input: only 0 is modelled"));
  small = gemma4();
  small["text_config"]["num_kv_shared_layers"] = 20;
  CHECK_THAT(problems_of_config(small), Catch::Contains("/text_config/num_kv_shared_layers: says of layers"));
}

TEST_CASE("uneven: Step 3.5's windows have more heads, and its text lists the layers with experts") {
  const Architecture m = read_config(step35());
  CHECK((heads_of_layer(m, 0).query_heads == 64 && heads_of_layer(m, 1).query_heads == 96));
  CHECK((heads_of_layer(m, 0).gate() == 64 && heads_of_layer(m, 1).gate() == 96));
  CHECK(heads_of_layer(m, 1).projected() == 96 * 128 + 96 + 2 * 8 * 128);
  CHECK((m.layers[2].moe.experts == 0 && m.layers[3].moe.experts == 288));
  CHECK(kv_bytes(m) == 12 * 2 * 8 * 128 * 2);
  Json config = step35();
  for (const char* bad : {"3,4,x", "3;4", "-1", "", "3,,4", "3,"}) {
    config["moe_layers_enum"] = bad;
    CHECK_THAT(problems_of_config(config), Catch::Contains("/moe_layers_enum: expected numbers of layers"));
  }
  config.erase("moe_layers_enum");
  CHECK_THAT(problems_of_config(config), Catch::Contains("/moe_layers_enum: required, but missing"));
  config = step35();
  config["num_nextn_predict_layers"] = 2;
  CHECK_THAT(problems_of_config(config), Catch::Contains("expected a word for each of the 45 layers"));
  config = step35();
  config["attention_other_setting"]["num_attention_groups"] = 7;
  CHECK_THAT(problems_of_config(config), Catch::Contains("7 KV heads do not divide 96 attention heads"));
}

TEST_CASE("uneven: Laguna lists the heads of each layer, and a gate a head or an element") {
  const Architecture m = read_config(laguna());
  // By hand: attention of ten layers with 48 heads and thirty with 64, then MLPs.
  const auto attention = [](std::int64_t heads) {
    return 2048 * (heads * 128 + heads + 2 * 8 * 128) + heads * 128 * 2048 + 2 * 128 + 2 * 2048;
  };
  const std::int64_t expert = 3 * 2048 * 512, sparse = 257 * expert + 256 * 2048 + 256;
  CHECK(m.parameters() ==
        10 * attention(48) + 30 * attention(64) + 39 * sparse + 3 * 2048 * 8192 + 2 * 100352 * 2048 + 2048);
  CHECK(kv_bytes(m) == 10 * 2 * 8 * 128 * 2);
  Json config = laguna();
  config["gating"] = "per-element";
  CHECK(heads_of_layer(read_config(config), 1).gate() == 64 * 128);
  config["gating"] = true;
  CHECK(heads_of_layer(read_config(config), 1).gate() == 64);
  config["gating"] = false;
  CHECK(heads_of_layer(read_config(config), 1).gate() == 0);
  config["num_attention_heads_per_layer"].erase(0);
  CHECK_THAT(problems_of_config(config), Catch::Contains("expected a number for each of the 40 layers"));
}

TEST_CASE("uneven: a list says of each layer whether it has experts") {
  Json config = llama_config();
  config.update({{"model_type", "exaone_moe"}, {"num_experts", 16}, {"num_experts_per_tok", 2}});
  config.update(
      {{"moe_intermediate_size", 512}, {"first_last_k_dense_replace", 1}, {"sliding_window", nullptr}});
  const Architecture first = read_config(config);
  CHECK((first.layers[0].intermediate == 14336 && first.layers[1].moe.experts == 16));
  Json each = Json::array({false});
  for (int i = 1; i < 32; ++i) each.push_back(true);
  config["is_moe_layer"] = each;
  CHECK(read_config(config).layers == first.layers);
  config.erase("is_moe_layer");
  each = Json::array({0});
  for (int i = 1; i < 32; ++i) each.push_back(i % 2);
  config["moe_layer_freq"] = each;
  CHECK((read_config(config).layers[2].moe.experts == 0 && read_config(config).layers[3].moe.experts == 16));
  each.push_back(1);
  config["moe_layer_freq"] = each;
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("/moe_layer_freq: expected a number for each of the 32"));
  config["moe_layer_freq"] = {0, 2};
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("/moe_layer_freq: expected a list of true and false"));
}

TEST_CASE("uneven: parameters counted by hand, where a name is no count") {
  // inceptionai/Jais-2-8B-Chat (Jais2Config's defaults): LayerNorms, biases everywhere, no gate, untied.
  const Json jais = {{"model_type", "jais2"},          {"vocab_size", 150272},    {"hidden_size", 3328},
                     {"intermediate_size", 26624},     {"num_hidden_layers", 32}, {"num_attention_heads", 26},
                     {"max_position_embeddings", 8192}};
  const std::int64_t jais_layer = 4 * (3328 * 3328 + 3328) + 2 * 3328 * 26624 + 26624 + 3328 + 4 * 3328;
  CHECK(read_config(jais).parameters() == 32 * jais_layer + 2 * 150272 * 3328 + 2 * 3328);
  CHECK(kv_bytes(read_config(jais)) == 32 * 2 * 3328 * 2);

  // microsoft/biogpt (BioGptConfig's defaults): learned positions behind two more, tied.
  const Json biogpt = {
      {"model_type", "biogpt"},         {"vocab_size", 42384},     {"hidden_size", 1024},
      {"intermediate_size", 4096},      {"num_hidden_layers", 24}, {"num_attention_heads", 16},
      {"max_position_embeddings", 1024}};
  const std::int64_t biogpt_layer = 4 * (1024 * 1024 + 1024) + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024;
  CHECK(read_config(biogpt).parameters() == 24 * biogpt_layer + (42384 + 1026) * 1024 + 2 * 1024);

  // Tele-AI's Telechat3-36B-Thinking, config.json.
  const Json telechat = {{"model_type", "telechat3"},    {"vocab_size", 131072},
                         {"hidden_size", 6144},          {"intermediate_size", 24576},
                         {"num_hidden_layers", 64},      {"num_attention_heads", 48},
                         {"num_key_value_heads", 8},     {"head_dim", 128},
                         {"tie_word_embeddings", false}, {"max_position_embeddings", 32768}};
  const std::int64_t telechat_layer = 2 * 6144 * 6144 + 2 * 6144 * 1024 + 3 * 6144 * 24576 + 2 * 6144;
  CHECK(read_config(telechat).parameters() == 64 * telechat_layer + 2 * 131072 * 6144 + 6144);

  // allenai/OLMo-Hybrid-7B (OlmoHybridConfig's defaults): 24 delta nets of 30 heads, 96 and 192 wide.
  Json olmo = {{"model_type", "olmo_hybrid"},     {"vocab_size", 100352},    {"hidden_size", 3840},
               {"intermediate_size", 11008},      {"num_hidden_layers", 32}, {"num_attention_heads", 30},
               {"max_position_embeddings", 65536}};
  const std::int64_t keys = 30 * 96, values = 30 * 192, mlp = 3 * 3840 * 11008 + 2 * 3840;
  const std::int64_t net = 3840 * (2 * keys + 3 * values + 2 * 30) + 4 * (2 * keys + values) + 2 * 30 + 192;
  const std::int64_t attention = 4 * 3840 * 3840 + 2 * 3840;
  CHECK(read_config(olmo).parameters() ==
        24 * (net + mlp) + 8 * (attention + mlp) + 2 * 100352 * 3840 + 3840);
  CHECK(kv_bytes(read_config(olmo)) == 8 * 2 * 3840 * 2);
  CHECK(kv_bytes_per_request(read_config(olmo), {}, {}, 0).value() ==
        24 * (4. * values * 96 + 2. * 3 * (2 * keys + values)));
}

TEST_CASE("uneven: Ring-linear attends in the last layer of each group, and behind the last whole one") {
  Json config = llama_config();
  config.update({{"model_type", "bailing_moe_linear"}, {"num_experts", 16}, {"num_experts_per_tok", 2}});
  config.update({{"moe_intermediate_size", 512}, {"layer_group_size", 5}});
  std::string kinds;
  for (const LayerKind& layer : read_config(config).layers)
    kinds += std::holds_alternative<HeadAttention>(layer.attention) ? 'A' : 'l';
  CHECK(kinds == "llllAllllAllllAllllAllllAllllAAA");
}

TEST_CASE("uneven: files of families that are read, with keys that they have and others had not") {
  Json latent = deepseek_config();
  latent["num_attention_heads"] = 96;  // as Kimi-K3: no divisor of 7168, and latents need none
  latent["mlp_bias"] = false;
  CHECK(problems_of_config(latent).empty());
  CHECK(notes_of_config(latent).empty());
  latent["mlp_bias"] = true;
  CHECK_THAT(problems_of_config(latent), Catch::Contains("/mlp_bias: only false is modelled"));
  latent["mlp_bias"] = false;
  latent.update({{"index_topk", 2048}, {"index_n_heads", 32}, {"index_head_dim", 128}});
  const Architecture sparse = read_config(latent);
  latent["layer_types"] = std::vector<std::string>(61, "deepseek_sparse_attention");  // GLM-5.2-NVFP4
  CHECK(read_config(latent).layers == sparse.layers);
  Json plain = llama_config();
  plain["layer_types"] = std::vector<std::string>(32, "deepseek_sparse_attention");
  CHECK_THAT(problems_of_config(plain), Catch::Contains("/layer_types"));
  plain = llama_config();
  plain["mlp_only_layers"] = Json::array();  // Qwen3.5-27B
  CHECK(notes_of_config(plain).empty());
}

TEST_CASE("uneven: Nemotron 3 lists its layers and need not count them") {
  Json config = nemotron_config();
  config["intermediate_size"] = 1856;
  config["layers_block_type"] = {"mamba", "mlp", "attention", "mlp"};
  config.update({{"time_step_min", 0.001}, {"time_step_max", 0.1}, {"time_step_rank", 256}});
  const Architecture m = read_config(config);
  CHECK(m.layer_count() == 4);
  CHECK(notes_of_config(config).empty());  // time_step_* of its row
  config["num_hidden_layers"] = 4;
  CHECK(read_config(config).layers == m.layers);
}

TEST_CASE("uneven: what a file has and Weir has not is named where it is refused") {
  Json config = llama_config();
  for (const char* key :
       {"compress_ratios", "attn_res_block_size", "routed_expert_hidden_size", "loop_num"}) {
    config[key] = 4;
    CHECK_THAT(problems_of_config(config), Catch::Contains(std::string("/") + key + ": says of layers"));
    config.erase(key);
  }
  const auto refused = [](const char* type, const char* reason) {
    INFO(type);
    CHECK_THAT(problems_of_config({{"model_type", type}}), Catch::Contains(reason));
  };
  refused("deepseek_v4", "compress_ratios");
  refused("minimax_m3", "sparse_attention_config");
  refused("baichuan_m1", "conv_window");
  refused("iquestloopcoder", "loop_num");
  refused("llada2_moe", "by diffusion");
  refused("diffllama", "lambda_q1");
  refused("bitnet", "1.58 bits");
  refused("idefics", "cross_layer_interval");
  refused("instructblip", "qformer_config");
  const Json unknown = {{"model_type", "rembert"}, {"architectures", {"RemBertForMaskedLM"}}};
  CHECK_THAT(problems_of_config(unknown),
             Catch::Contains("RemBertForMaskedLM, fills in masked words, and generates no tokens"));
  CHECK_THAT(problems_of_config({{"model_type", "fooformer"}, {"architectures", {"FooForCausalLM"}}}),
             Catch::Contains("no such model_type (got \"fooformer\", known: Klear"));
}

}  // namespace weir
