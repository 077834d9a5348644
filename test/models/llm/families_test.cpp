// Families of models, each as a small config.json written from public facts, against what was published.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <set>

#include "models/llm/config/config_reader.h"
#include "models/llm/config/hugging_face.h"
#include "sim/core/embedded.h"
#include "test/models/llm/config_files.h"
#include "test/models/llm/models.h"

using namespace weir::test;

namespace weir {

extern const EmbeddedFiles family_files;

namespace {

std::int64_t kept_bytes_per_token(const Architecture& m) {
  std::int64_t bytes = 0;
  for (const LayerKind& layer : m.layers)
    bytes += 2 * kept(layer.attention).token + kept(layer.attention).token_bytes;
  return bytes;
}

Json glm52() {
  Json config = deepseek_config();
  config.update({{"model_type", "glm_moe_dsa"},
                 {"hidden_size", 6144},
                 {"intermediate_size", 12288},
                 {"num_hidden_layers", 78},
                 {"num_attention_heads", 64},
                 {"num_key_value_heads", 64},
                 {"q_lora_rank", 2048},
                 {"qk_nope_head_dim", 192},
                 {"v_head_dim", 256},
                 {"index_head_dim", 128},
                 {"index_n_heads", 32},
                 {"index_topk", 2048},
                 {"n_group", 1},
                 {"topk_group", 1},
                 {"vocab_size", 154880}});
  return config;
}

}  // namespace

TEST_CASE("families: parameters are within half a per cent of the published ones") {
  const Json published = read_json_file(WEIR_SOURCE_DIR "/test/models/llm/published_families.json");
  std::set<std::string> types;
  for (const Json& row : published) {
    INFO(row["name"]);
    const Architecture m = read_config(row["config"]);
    CHECK(static_cast<double>(m.parameters()) == Approx(row["published"].get<double>()).epsilon(0.005));
    if (row.contains("kv")) CHECK(kept_bytes_per_token(m) == row["kv"].get<std::int64_t>());
    for (const std::string& note : m.notes) CHECK(note.find("not read") == std::string::npos);
    types.insert(row["config"]["model_type"].get<std::string>());
  }
  CHECK(types.size() >= 60);
}

TEST_CASE("families: every row is like one that has a reader, has a source, or says why it is refused") {
  for (const auto& [file, text] : family_files) {
    if (file == "keys") continue;
    for (const auto& [name, row] : embedded_json(text, std::string(file)).items()) {
      INFO(name);
      CHECK(row["source"].get<std::string>().size() > 5);
      const Family* family = family_named(name);
      REQUIRE(family);
      CHECK((family->refused.empty() ? reader_named(family->reader) != nullptr : !family->refused.empty()));
      if (!family->defaults.empty()) CHECK_FALSE(family->class_name.empty());
    }
  }
}

TEST_CASE("families: a family with the layers of another reads as that one") {
  Json config = llama_config();
  config["tie_word_embeddings"] = false;
  const Architecture m = read_config(config);
  for (const char* like : {"Yi", "aquila", "internlm2", "exaone", "granite", "seed_oss", "cwm", "xverse"}) {
    config["model_type"] = like;
    CHECK(read_config(config).layers == m.layers);
    CHECK(read_config(config).parameters() == m.parameters());
  }
}

TEST_CASE("families: of layers with an indexer, others take what it chose") {
  Json config = glm52();
  CHECK(kept_bytes_per_token(read_config(config)) == 78 * (576 * 2 + 132));
  const auto cut = [&](Json changed, std::int64_t own) {
    changed.update(config);
    const Architecture m = read_config(changed);
    CHECK(kept_bytes_per_token(m) == 78 * 576 * 2 + own * 132);
    // An indexer's projections and the norm of its keys.
    const std::int64_t one = 2048 * 32 * 128 + 6144 * (128 + 32) + 2 * 128;
    CHECK(read_config(config).parameters() - m.parameters() == (78 - own) * one);
    for (const LayerKind& layer : m.layers) CHECK(std::get<LatentAttention>(layer.attention).top_k == 2048);
    return m;
  };
  Json types = Json::array();
  std::string pattern;
  for (int i = 0; i < 78; ++i) {
    const bool full = i < 3 || (i - 2) % 4 == 0;
    types.push_back(full ? "full" : "shared");
    pattern += full ? 'F' : 'S';
  }
  const Architecture listed = cut({{"indexer_types", types}}, 21);
  CHECK(cut({{"index_topk_pattern", pattern}}, 21).layers == listed.layers);
  CHECK(cut({{"index_topk_freq", 4}, {"index_skip_topk_offset", 3}}, 21).layers == listed.layers);
  CHECK(cut({{"index_topk_freq", 1}}, 78).layers == read_config(config).layers);
  cut({{"index_topk_freq", 2}}, 40);  // from layer 1 on every other one, and layer 0
  // The shared layer has no operator of an indexer, and attends to as many.
  const StageGraph graph = build_stage(listed, {}, {.tensor = 8}, 0);
  double scores = 0, attentions = 0;
  for_each_operator(graph, [&](const Operator& op, double times) {
    if (op.name == "dsa_scores") scores += times;
    if (op.name != "attention") return;
    attentions += times;
    CHECK(op.as<Attention>()->window == 2048);
  });
  CHECK((scores == 21 && attentions == 78));
  types[0] = "shared";
  config["indexer_types"] = types;
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("/indexer_types: expected \"full\" or \"shared\" for each of the 78"));
  config["indexer_types"] = Json::array({"full"});
  CHECK_THAT(problems_of_config(config), Catch::Contains("/indexer_types: expected"));
}

TEST_CASE("families: a window that is modelled has no note, and one in every layer has") {
  Json config = llama_config();
  config.update(
      {{"model_type", "qwen3"}, {"head_dim", 128}, {"sliding_window", 1024}, {"use_sliding_window", true}});
  Json types = Json::array();
  for (int i = 1; i <= 32; ++i) types.push_back(i % 4 == 0 ? "full_attention" : "sliding_attention");
  Json listed = config;
  listed["layer_types"] = types;
  CHECK(notes_of_config(listed).empty());
  CHECK(kept_bytes_per_token(read_config(listed)) == 8 * 4096);
  Json behind = config;
  behind["max_window_layers"] = 28;
  CHECK(notes_of_config(behind).empty());
  CHECK(kept_bytes_per_token(read_config(behind)) == 28 * 4096);
  behind["max_window_layers"] = 32;
  CHECK(kept_bytes_per_token(read_config(behind)) == 32 * 4096);
  behind["use_sliding_window"] = false;
  behind["max_window_layers"] = 0;
  CHECK(kept_bytes_per_token(read_config(behind)) == 32 * 4096);
  behind["use_sliding_window"] = true;  // windows alone
  CHECK(kept_bytes_per_token(read_config(behind)) == 32 * 4096);
  CHECK_THAT(notes_of_config(behind),
             Catch::Contains("sliding window of 1024 tokens, in every layer, is not modelled"));
}

TEST_CASE("families: MiniMax-M2 with softmax attention in every layer is itself, and no other") {
  Json config = llama_config();
  config.update({{"model_type", "minimax_m2"}, {"num_local_experts", 16}, {"num_experts_per_tok", 2}});
  const Architecture plain = read_config(config);
  config["attn_type_list"] = std::vector<int>(32, 1);
  CHECK(read_config(config).layers == plain.layers);
  CHECK(notes_of_config(config).empty());
  config["attn_type_list"][7] = 0;
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("/attn_type_list: says of layers what Weir does not know"));
}

TEST_CASE("families: states keep an amount a request, hand-worked for each kind") {
  const Json published = read_json_file(WEIR_SOURCE_DIR "/test/models/llm/published_families.json");
  const auto of_request = [&](const char* name) {
    for (const Json& row : published)
      if (row["name"] == name) return kv_bytes_per_request(read_config(row["config"]), {}, {}, 0).value();
    return -1.;
  };
  // 29 Mamba-2 layers: 128 heads of 64 with 128 numbers each in 16 bits; 3 tokens of 8192 + 2 x 128 channels.
  CHECK(of_request("Bamba-9B") == 29 * 2. * (8192 * 128 + 3 * (8192 + 256)));
  // 28 Mamba layers of 8192 channels with 16 numbers.
  CHECK(of_request("Jamba-v0.1") == 28 * 2. * (8192 * 16 + 3 * 8192));
  // 23 layers with a state in 32 bits (mamba_ssm_cache_dtype).
  CHECK(of_request("Nemotron-3-Nano-30B-A3B") == 23 * (4. * 4096 * 128 + 2. * 3 * (4096 + 2 * 8 * 128)));
  // Ten convolutions over three tokens.
  CHECK(of_request("LFM2-1.2B") == 10 * 2. * 2 * 2048);
  // Every layer has both.
  CHECK(of_request("Falcon-H1-7B") == 44 * 2. * (3072 * 256 + 3 * (3072 + 512)));
  // 20 layers of 32 heads of 128 x 128 in 32 bits, three tokens of Q, K and V.
  CHECK(of_request("Kimi-Linear-48B-A3B") == 20 * (4. * 32 * 128 * 128 + 2. * 3 * 3 * 4096));
  // 70 layers of lightning attention, without a convolution.
  CHECK(of_request("MiniMax-Text-01") == 70 * 4. * 64 * 128 * 128);
}

TEST_CASE("families: layers that a search took apart have what is left of them") {
  Json config = llama_config();
  config.update({{"model_type", "deci"},
                 {"num_hidden_layers", 4},
                 {"intermediate_size", nullptr},
                 {"num_key_value_heads", nullptr}});
  const Json all = {{"attention", {{"n_heads_in_group", 4}, {"no_op", false}}},
                    {"ffn", {{"ffn_mult", 5.25}}}};
  const Json mlp = {{"attention", {{"n_heads_in_group", nullptr}, {"no_op", true}}},
                    {"ffn", {{"ffn_mult", 1.3}}}};
  const Json heads = {{"attention", {{"n_heads_in_group", 8}}},
                      {"ffn", {{"ffn_mult", nullptr}, {"no_op", true}}}};
  const Json none = {{"attention", {{"no_op", true}}}, {"ffn", {{"no_op", true}}}};
  config["block_configs"] = Json::array({all, mlp, heads, none});
  const Architecture m = read_config(config);
  REQUIRE(m.layer_count() == 3);
  CHECK(m.layers[0].intermediate == 14336);  // 2/3 of 5.25 x 4096
  CHECK(m.layers[1].intermediate == 3584);   // 3549 rounded up to 256s
  CHECK_FALSE((m.layers[1].has_attention() || m.layers[2].has_mlp()));
  CHECK(kept_bytes_per_token(m) == 4096 + 2048);
  config["block_configs"] = Json::array({none, none, none, none});
  CHECK_THAT(problems_of_config(config), Catch::Contains("no layer of it has attention or an MLP"));
  config["block_configs"] = Json::array({all, mlp, heads, none});
  config["block_configs"][0]["attention"]["n_heads_in_group"] = 3;
  CHECK_THAT(problems_of_config(config), Catch::Contains("groups of 3 do not divide 32 attention heads"));

  Json older = llama_config();
  older.update(
      {{"model_type", "deci"}, {"num_hidden_layers", 3}, {"num_key_value_heads_per_layer", {4, 2, 1}}});
  older.erase("num_key_value_heads");
  CHECK(kept_bytes_per_token(read_config(older)) == (4 + 2 + 1) * 2 * 128 * 2);
  older["num_key_value_heads_per_layer"] = {4, 2, 3};
  CHECK_THAT(problems_of_config(older), Catch::Contains("3 KV heads do not divide 32"));
}

TEST_CASE("families: a pattern of more layers than any model has is a problem, and is read no further") {
  Json config = llama_config();
  config.update({{"model_type", "nemotron_h"},
                 {"hybrid_override_pattern", std::string(1'000'000, '*')},
                 {"quantization_config", {{"quant_method", "fp8"}}}});
  CHECK_THAT(problems_of_config(config), Catch::Contains("expected at most 4096 layers"));
}

TEST_CASE(
    "families: Python's NaN and Infinity are read in a config.json, and no reader takes them for numbers") {
  const std::string text =
      R"({"time_step_limit": [0.0, Infinity, -Infinity], "a": NaN, "b": "NaN, \"Infinity"})";
  CHECK_THROWS_AS(parse_json(text, "f"), ConfigError);
  const Json read = parse_json(text, "f", JsonOf::python);
  CHECK(read["time_step_limit"] == Json::array({0.0, "Infinity", "-Infinity"}));
  CHECK(read["a"] == "NaN");
  CHECK(read["b"] == "NaN, \"Infinity");
  for (const char* bad : {"{NaN: 1}", "{\"a\": Infinityx}", "{\"a\": NaN", "{\"a\": nan}"})
    CHECK_THROWS_AS(parse_json(bad, "f", JsonOf::python), ConfigError);
  Json config = llama_config();
  config["hidden_size"] = "Infinity";
  CHECK_THAT(problems_of_config(config), Catch::Contains("/hidden_size: expected an integer"));
}

}  // namespace weir
