// Models of which layers attend in other ways than heads with keys and values of their own.
#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>

#include "test/models/llm/models.h"
#include "test/reference_folder.h"

using namespace weir;

namespace {

struct Published {
  const char* name;
  double total, active;   // 10^9 parameters
  std::int64_t kv_bytes;  // of a token in bf16, of all layers, once
  std::int64_t index_bytes = 0;
};

// As published with each model (the catalog's sources); KV bytes from their layers and widths.
const Published published[] = {
    {"deepseek-r1", 671, 37, 61 * 576 * 2},
    {"kimi-k2.5", 1026, 32, 61 * 576 * 2},  // 1.04 T is published: the configuration is 1.3 % smaller
    {"gpt-oss-120b", 116.8, 5.1, 36 * 2 * 8 * 64 * 2},
    {"minimax-m2.5", 229.5, 10, 62 * 2 * 8 * 128 * 2},
    {"qwen3-235b-a22b", 235, 22, 94 * 2 * 4 * 128 * 2},
    {"qwen3.5-397b-a17b", 397, 17, 15 * 2 * 2 * 256 * 2},
    {"glm-5", 744, 40, 78 * 576 * 2, 78 * 132},
    {"deepseek-v3.2", 671.5, 37, 61 * 576 * 2, 61 * 132},
    {"gpt-oss-20b", 20.9, 3.6, 24 * 2 * 8 * 64 * 2},
};

std::size_t windows(const Architecture& m) {
  return static_cast<std::size_t>(std::ranges::count_if(m.layers, [](const LayerKind& layer) {
    const auto* heads = std::get_if<HeadAttention>(&layer.attention);
    return heads && heads->window > 0;
  }));
}

}  // namespace

TEST_CASE("frontier models: parameters, those a token uses, and KV bytes of a token are the published ones") {
  for (const Published& of : published) {
    INFO(of.name);
    const Architecture m = catalog_model(of.name);
    CHECK(static_cast<double>(m.parameters()) == Approx(1e9 * of.total).epsilon(0.01));
    // A table that is looked up is not counted where a token's share is published (gpt-oss says so).
    const std::int64_t active = m.active_parameters() - (m.tied_embeddings ? 0 : m.vocabulary * m.hidden);
    CHECK(static_cast<double>(active) == Approx(1e9 * of.active).epsilon(0.05));
    CHECK(2 * m.kv_elements_per_token() == of.kv_bytes);
    Kept sum;
    for (const LayerKind& layer : m.layers) sum.token_bytes += kept(layer.attention).token_bytes;
    CHECK(sum.token_bytes == of.index_bytes);
  }
}

TEST_CASE("frontier models: windows and states keep an amount a request, and nothing of a token") {
  const Architecture oss = catalog_model("gpt-oss-120b"), qwen = catalog_model("qwen3.5-397b-a17b");
  CHECK(windows(oss) == 18);
  CHECK(kv_bytes_per_token(oss, {}, {}, 0).value() == 18 * 2 * 8 * 64 * 2);
  CHECK(kv_bytes_per_request(oss, {}, {}, 0).value() == 128. * 18 * 2 * 8 * 64 * 2);
  CHECK(kv_bytes_per_token(qwen, {}, {}, 0).value() == 30720);
  // 64 heads of 128 x 128 in fp32, and three tokens of Q, K and V.
  CHECK(kv_bytes_per_request(qwen, {}, {}, 0).value() ==
        45. * (4 * 64 * 128 * 128 + 2 * 3 * (2 * 16 * 128 + 64 * 128)));
  CHECK(kv_bytes_per_request(catalog_model("llama3.1-8b"), {}, {}, 0).value() == 0);
}

TEST_CASE("frontier models: latents lie on every rank whole, in the type of the KV cache") {
  const Architecture m = catalog_model("deepseek-r1");
  const Precision fp8{.kv_cache = DataType::fp8};
  for (const int tensor : {1, 2, 8}) {
    CHECK(kv_bytes_per_token(m, {}, {.tensor = tensor}, 0).value() == 70272);
    CHECK(kv_bytes_per_token(m, fp8, {.tensor = tensor}, 0).value() == 35136);
  }
  CHECK(kv_bytes_per_token(catalog_model("deepseek-v3.2"), fp8, {.tensor = 8}, 0).value() ==
        61 * (576 + 132));
}

TEST_CASE("frontier models: configurations as published are those of the catalog") {
  const std::filesystem::path folder = weir::test::reference_folder();
  if (folder.empty()) {
    WARN("WEIR_REFERENCE names no folder: skipped");
    return;
  }
  const std::vector<std::pair<std::string, std::string>> files = {
      {"deepseek-r1", "DeepSeek-R1"},
      {"deepseek-v3.2", "DeepSeek-V3.2"},
      {"kimi-k2.5", "Kimi-K2.5"},
      {"glm-5", "GLM-5"},
      {"gpt-oss-120b", "gpt-oss-120b"},
      {"gpt-oss-20b", "gpt-oss-20b"},
      {"minimax-m2.5", "MiniMax-M2.5"},
      {"qwen3-235b-a22b", "Qwen3-235B-A22B"},
      {"qwen3-8b", "Qwen3-8B"},
      {"qwen3.5-397b-a17b", "Qwen3.5-397B-A17B"},
      {"glm-5", "GLM-5.1"},
      {"llama4-scout", "Llama-4-Scout-17B-16E-Instruct"}};
  for (const auto& [name, file] : files) {
    INFO(name);
    const Architecture own = catalog_model(name);
    Architecture read = read_hugging_face_config(folder / "models" / (file + "_config.json"));
    for (LayerKind& layer : read.layers) layer.wide = 0;  // the catalog's files say nothing of types
    CHECK(read.layers == own.layers);
    CHECK(read.parameters() == own.parameters());
    CHECK(read.positions == own.positions);
  }
}

TEST_CASE("frontier models: layers that differ are few parts") {
  const auto blocks = [](const char* name) {
    std::vector<std::int64_t> times;
    for (const Part& part : build_stage(catalog_model(name), {}, {}, 0).parts)
      if (part.name == "block") times.push_back(part.times);
    return times;
  };
  CHECK(blocks("deepseek-r1") == std::vector<std::int64_t>{3, 58});
  CHECK(blocks("gpt-oss-120b") == std::vector<std::int64_t>{18});       // pairs
  CHECK(blocks("qwen3.5-397b-a17b") == std::vector<std::int64_t>{15});  // of four
  CHECK(blocks("llama4-scout") == std::vector<std::int64_t>{12});
  CHECK(blocks("minimax-m2.5") == std::vector<std::int64_t>{62});
}

TEST_CASE("frontier models: every layer type has the operators that it needs") {
  const auto names = [](const char* model, int tensor) {
    std::vector<std::string> all;
    const StageGraph stage = build_stage(catalog_model(model), {}, {.tensor = tensor}, 0);
    const OperatorGraph& block = part_named(stage, "block").operators;
    for (std::size_t v = 0; v < boost::num_vertices(block); ++v) all.push_back(block[v].name);
    return all;
  };
  const auto has = [](const std::vector<std::string>& all, const char* name) {
    return std::ranges::count(all, name);
  };
  const auto mla = names("deepseek-r1", 8);
  CHECK(has(mla, "attention") == 2);  // of prompts, and of decodes
  for (const char* name :
       {"mla_down_proj", "mla_q_proj", "mla_kv_proj", "mla_absorb", "mla_values", "mla_o_proj"})
    CHECK(has(mla, name) == 1);
  const auto dsa = names("deepseek-v3.2", 8);
  CHECK((has(dsa, "attention") == 1 && has(dsa, "dsa_scores") == 1 && has(dsa, "mla_kv_proj") == 0));
  CHECK(has(names("minimax-m2.5", 8), "all_reduce") == 3);
  CHECK(has(names("minimax-m2.5", 1), "all_reduce") == 0);
  const auto qwen = names("qwen3.5-397b-a17b", 1);
  CHECK((has(qwen, "linear_step") == 3 && has(qwen, "attention") == 1 && has(qwen, "output_gate") == 1));
}

TEST_CASE(
    "frontier models: decodes of latents are as many heads of one key, prompts have heads of their own") {
  const StageGraph stage = build_stage(catalog_model("deepseek-r1"), {}, {.tensor = 8}, 0);
  for (const Operator* op : operators_of(stage)) {
    const auto* a = op->as<Attention>();
    if (!a) continue;
    const bool decodes = op->rows == Rows::decodes;
    CHECK(a->query_heads == 16);
    CHECK(a->kv_heads == (decodes ? 1 : 16));
    CHECK(a->head_dim == (decodes ? 576 : 192));
    CHECK(values_met(*a) == (decodes ? 512 : 128));
    CHECK(bytes_per_token(*a).value() == 2. * (decodes ? 576 : 16 * (192 + 128)));
    CHECK_FALSE(is_plain(*a));
  }
}

TEST_CASE("frontier models: rows of prompts, of their caches and of decodes are each their own") {
  const PrefillChunk chunks[] = {{100, 400}, {20, 0}};
  BatchShape batch{.prefill = chunks,
                   .prefill_tokens = 120,
                   .decodes = 3,
                   .decode_context_sum = 300,
                   .decode_context_max = 150,
                   .contexts = {},
                   .sequences = 4};
  CHECK(rows_of(Rows::prompt_tokens, {}, batch) == 120);
  CHECK(rows_of(Rows::prompt_contexts, {}, batch) == 520);
  CHECK(rows_of(Rows::decodes, {}, batch) == 3);
  CHECK(rows_of(Rows::tokens, {}, batch) == 123);
}

TEST_CASE(
    "frontier models: a configuration with layers that Weir does not know is refused, and they are named") {
  const auto problems = [](Json config) {
    Reading reading("config.json");
    read_model(config, reading, "/model");
    try {
      reading.finish();
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  using Catch::Contains;
  CHECK(problems({{"base", "gpt-oss-20b"}}).empty());
  Json types = Json::array();
  for (int i = 0; i < 24; ++i) types.push_back(i % 2 ? "full_attention" : "conv");
  const std::string told = problems({{"base", "gpt-oss-20b"}, {"layer_types", types}});
  CHECK_THAT(told, Contains("\"conv\"") && Contains("sliding_attention"));
  CHECK(told.find("\"conv\"") == told.rfind("\"conv\""));  // once, for twelve layers
  CHECK_THAT(problems({{"base", "gpt-oss-20b"}, {"layer_types", Json::array({"full_attention"})}}),
             Contains("a word for each of the 24 layers"));
  CHECK_THAT(problems({{"base", "llama3.1-8b"}, {"kv_lora_rank", 512}}), Contains("/kv_lora_rank"));
  CHECK_THAT(problems({{"base", "llama3.1-8b"}, {"mamba_d_state", 16}}), Contains("/mamba_d_state"));
  CHECK_THAT(problems({{"base", "deepseek-r1"}, {"n_group", 7}}),
             Contains("/n_group: 7 groups do not divide 256"));
  CHECK_THAT(problems({{"base", "minimax-m2.5"}, {"qk_norm_type", "per_token"}}), Contains("/qk_norm_type"));
}
