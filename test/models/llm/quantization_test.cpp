// A checkpoint's own number formats, against the published sizes of public ones.
#include <catch2/catch.hpp>

#include "test/models/llm/config_files.h"
#include "test/models/llm/models.h"

namespace weir {
namespace {

// A model of the catalog, whose sizes are those of public files, with a quantization_config.
Architecture checkpoint(const std::string& name, const Json& quantization,
                        const Json& more = Json::object()) {
  Json config = {{"base", name}, {"quantization_config", quantization}};
  config.update(more);
  Reading reading("scenario.json");
  Architecture m = read_model(config, reading, "/model");
  reading.finish();
  return m;
}

Precision precision_of(const Architecture& m, const Json& given = Json::object()) {
  Reading reading("scenario.json");
  Params params(reading, given);
  const Precision p = Precision::from(params, m.quantization ? &*m.quantization : nullptr);
  params.close();
  reading.finish();
  return p;
}

double bytes_of(const Architecture& m, const Sharding& cut = {}) {
  return weight_bytes(m, precision_of(m), cut, 0).value();
}

const Json fp8_blocks = {{"quant_method", "fp8"},
                         {"fmt", "e4m3"},
                         {"activation_scheme", "dynamic"},
                         {"weight_block_size", {128, 128}}};
const Json awq = {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}, {"zero_point", true}};
Json gptq(int bits) {
  return {{"quant_method", "gptq"}, {"bits", bits}, {"group_size", 128}, {"sym", true}, {"desc_act", true}};
}
const Json mxfp4 = {
    {"quant_method", "mxfp4"},
    {"modules_to_not_convert",
     {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}};
const Json kimi_thinking = {
    {"quant_method", "compressed-tensors"},
    {"format", "pack-quantized"},
    {"config_groups",
     {{"group_0",
       {{"targets", {"Linear"}},
        {"weights",
         {{"num_bits", 4}, {"type", "int"}, {"group_size", 32}, {"strategy", "group"}, {"symmetric", true}}},
        {"input_activations", nullptr}}}}},
    {"ignore",
     {"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"}}};

bool has_note(const Architecture& m, const std::string& part) {
  return std::ranges::any_of(m.notes,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("quantization: weights of public checkpoints are within 1 % of what is published") {
  struct Row {
    const char* model;
    Json config;
    double published;  // bytes
  };
  constexpr double gib = 1073741824;
  const std::vector<Row> rows = {
      // hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4: total_size of its index.
      {"llama3.1-70b", awq, 39767785472.},
      // hugging-quants/Meta-Llama-3.1-70B-Instruct-GPTQ-INT4: nine files, of 4.89, six of 4.9, 3.36 and 2.1
      // GB.
      {"llama3.1-70b", gptq(4), 39.75e9},
      // alpindale/Meta-Llama-3.1-70B-Instruct-GPTQ-INT8: eight files, as its folder lists them.
      {"llama3.1-70b", gptq(8), 74.28e9},
      // hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4: two files of 4.68 and 1.05 GB.
      {"llama3.1-8b", awq, 5.73e9},
      // gpt-oss model card (arXiv 2508.10925), table 1: checkpoint size.
      {"gpt-oss-120b", mxfp4, 60.8 * gib},
      {"gpt-oss-20b", mxfp4, 12.8 * gib},
      // moonshotai/Kimi-K2-Instruct: 1.03 TB of files.
      {"kimi-k2.5", fp8_blocks, 1.03e12},
      // moonshotai/Kimi-K2-Thinking: 594 GB of files, from memory; about 600 by kvcache-ai/ktransformers'
      // guide.
      {"kimi-k2.5", kimi_thinking, 594e9},
  };
  for (const auto& [name, config, published] : rows) {
    INFO(name);
    CHECK(bytes_of(checkpoint(name, config)) == Approx(published).epsilon(0.01));
  }
}

// deepseek-ai/DeepSeek-R1: total_size of its index is 688,586,727,753 bytes. It has a 62nd layer that drafts,
// with a projection of 2 x 7168 to 7168 and copies of embedding and LM head; vLLM adds 16-bit copies of W_UK
// and W_UV to every layer.
TEST_CASE("quantization: DeepSeek-R1 in fp8 is as large as published") {
  const Architecture m = checkpoint("deepseek-r1", fp8_blocks, {{"num_hidden_layers", 62}});
  const double copies = 62. * 2 * 512 * 128 * 256, drafts = 2 * 2. * 129280 * 7168 + 2. * 7168 * 7168;
  CHECK(bytes_of(m) - copies + drafts == Approx(688586727753.).epsilon(0.002));
}

TEST_CASE("quantization: what modules are called decides which groups are quantised") {
  const Architecture m = checkpoint("kimi-k2.5", kimi_thinking);
  const Precision p = precision_of(m);
  CHECK(p.of(MatrixGroup::experts) == MatrixTypes{{DataType::int4, 32, false}, DataType::bf16});
  for (const MatrixGroup wide : {MatrixGroup::attention, MatrixGroup::mlp, MatrixGroup::shared_expert,
                                 MatrixGroup::head, MatrixGroup::embedding})
    CHECK(p.of(wide) == MatrixTypes{});
  CHECK(has_note(m, "experts int4 in groups of 32 (0.5625 B)"));
  CHECK(m.notes.size() == 1);  // every name was understood
}

// Llama-3.1-405B-FP8 leaves attention alone, and the first and the last layer; here of 80 layers.
TEST_CASE("quantization: layers that are left alone by number stay wide") {
  Json names = Json::array({"lm_head"});
  for (int i = 0; i < 80; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      names.push_back(layer + "self_attn." + name);
    if (i == 0 || i == 79)
      for (const char* name : {"gate_proj", "up_proj", "down_proj"}) names.push_back(layer + "mlp." + name);
  }
  const Architecture m =
      checkpoint("llama3.1-70b", {{"quant_method", "fbgemm_fp8"}, {"modules_to_not_convert", names}});
  const Precision p = precision_of(m);
  CHECK(p.of(MatrixGroup::attention).weights == DataType::bf16);
  CHECK(p.of(MatrixGroup::mlp) == MatrixTypes{DataType::fp8, DataType::fp8});
  CHECK(p.of(MatrixGroup::mlp, m.layers[0].wide).weights == DataType::bf16);
  CHECK(m.layers[1].wide != m.layers[0].wide);
  const double all = bytes_of(m), mlp = 3. * 8192 * 28672;
  const double wide = weight_bytes(m, {}, {}, 0).value();  // bf16
  CHECK(wide - all == 78 * mlp);                           // a byte less each
  CHECK(m.notes.size() == 1);
}

TEST_CASE("quantization: NVFP4 of Model Optimizer, its excluded modules by wildcards, an 8-bit cache") {
  const Json config = {{"quant_method", "modelopt"},
                       {"quant_algo", "NVFP4"},
                       {"kv_cache_quant_algo", "FP8"},
                       {"group_size", 16},
                       {"exclude_modules", {"lm_head", "*self_attn*", "model.layers.61*", "*mlp.gate"}}};
  const Architecture m = checkpoint("deepseek-r1", config);
  const Precision p = precision_of(m);
  CHECK(p.of(MatrixGroup::attention).weights == DataType::bf16);
  CHECK(p.of(MatrixGroup::experts) == MatrixTypes{DataType::fp4, DataType::fp4});
  CHECK(p.of(MatrixGroup::mlp).weights == DataType::fp4);
  CHECK(p.kv_cache == DataType::fp8);
  CHECK_FALSE(has_note(m, "none of its matrices"));
}

TEST_CASE("quantization: a scenario's precision stands above the checkpoint's") {
  const Architecture m = checkpoint("kimi-k2.5", kimi_thinking);
  CHECK(precision_of(m, {{"expert_weights", "int4"}}).of(MatrixGroup::experts).weights ==
        StoredType(DataType::int4, 32, false));
  CHECK(precision_of(m, {{"experts", "int4"}, {"group_size", 128}}).of(MatrixGroup::experts).weights ==
        StoredType(DataType::int4, 128, false));
  CHECK(precision_of(m, {{"weights", "bf16"}}).of(MatrixGroup::experts) == MatrixTypes{});
  const Precision mixed = precision_of(m, {{"attention", "fp8"}});
  CHECK(mixed.of(MatrixGroup::attention) == MatrixTypes{DataType::fp8, DataType::fp8});
  CHECK(mixed.of(MatrixGroup::experts).weights == StoredType(DataType::int4, 32, false));
  const Architecture fp8 = checkpoint("llama3.1-8b", {{"quant_method", "fp8"}});
  CHECK(precision_of(fp8).of(MatrixGroup::mlp) == MatrixTypes{DataType::fp8, DataType::fp8});
  CHECK(precision_of(fp8, {{"activations", "bf16"}}).of(MatrixGroup::mlp) ==
        MatrixTypes{DataType::fp8, DataType::bf16});
}

TEST_CASE("quantization: groups without a checkpoint, and keys that have no effect") {
  const Architecture m = catalog_model("deepseek-r1");
  const Precision p =
      precision_of(m, {{"experts", "int4"}, {"group_size", 128}, {"zero_points", true}, {"head", "fp8"}});
  CHECK(p.of(MatrixGroup::experts) == MatrixTypes{{DataType::int4, 128, true}, DataType::bf16});
  CHECK(p.of(MatrixGroup::head) == MatrixTypes{DataType::fp8, DataType::fp8});
  CHECK(p.of(MatrixGroup::attention) == MatrixTypes{});
  CHECK_THROWS_AS(precision_of(m, {{"weights", "fp4"}, {"group_size", 128}}), ConfigError);
  CHECK_THROWS_AS(precision_of(m, {{"zero_points", true}}), ConfigError);
  CHECK_THROWS_AS(precision_of(m, {{"experts", "int4"}, {"expert_weights", "fp8"}}), ConfigError);
}

TEST_CASE("quantization: a method that is not read is named, and asks for a type") {
  const Architecture m = checkpoint("llama3.1-8b", {{"quant_method", "bitsandbytes"}});
  CHECK(has_note(m, "bitsandbytes"));
  CHECK(has_note(m, "compressed-tensors"));
  CHECK_THROWS_WITH(precision_of(m), Catch::Contains("bitsandbytes") && Catch::Contains("awq"));
  CHECK(precision_of(m, {{"weights", "int4"}}).of(MatrixGroup::mlp).weights == DataType::int4);
}

TEST_CASE("quantization: modules that are none of the model's are noted by name") {
  Json config = fp8_blocks;
  config["modules_to_not_convert"] = {"lm_head", "model.layers.3.mlp.banana_proj", "visual", "re:(a"};
  const Architecture m = checkpoint("llama3.1-8b", config);
  CHECK(has_note(m, "banana_proj"));
  CHECK(has_note(m, "(a"));
  CHECK_FALSE(has_note(m, "visual"));
  config["weight_block_size"] = {128};
  CHECK_THROWS_AS(checkpoint("llama3.1-8b", config), ConfigError);
  CHECK_THROWS_AS(checkpoint("llama3.1-8b", {{"quant_method", "gptq"}, {"bits", 3}}), ConfigError);
}

// nvidia/Qwen3.6-27B-NVFP4 and MiniMax-M3-NVFP4 have a thousand modules with an algorithm each.
TEST_CASE("quantization: modelopt's newer algorithms, and one that is unknown is told once") {
  Json layers = Json::object();
  for (int i = 0; i < 32; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      layers[layer + "mlp." + name] = {{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}};
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      layers[layer + "self_attn." + name] = {{"quant_algo", "MXFP8"}};
  }
  Json config = {
      {"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", layers}};
  const Precision p = precision_of(checkpoint("llama3.1-8b", config));
  CHECK(p.of(MatrixGroup::mlp) == MatrixTypes{DataType::fp4, DataType::bf16});
  CHECK(bytes_per_element(p.of(MatrixGroup::mlp).weights) == 0.5625);
  CHECK(bytes_per_element(p.of(MatrixGroup::attention).weights) == 1 + 1. / 32);
  for (auto& [name, layer] : config["quantized_layers"].items()) layer["quant_algo"] = "W3A3";
  try {
    checkpoint("llama3.1-8b", config);
    FAIL("it was read");
  } catch (const ConfigError& e) {
    CHECK(std::ranges::count(std::string(e.what()), '\n') == 0);
    CHECK_THAT(e.what(), Catch::Contains("no such quant_algo (got \"W3A3\""));
  }
}

// Model Optimizer 0.31 writes the cache's scheme as a word (nvidia's Qwen3-32B FP8); later ones an object.
TEST_CASE("quantization: the scheme of a KV cache is an object or a word") {
  Json config = {{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"kv_cache_scheme", "FP8"}};
  CHECK(precision_of(checkpoint("qwen3-32b", config)).kv_cache == DataType::fp8);
  config["kv_cache_scheme"] = {{"dynamic", false}, {"num_bits", 8}, {"type", "float"}};
  CHECK(precision_of(checkpoint("qwen3-32b", config)).kv_cache == DataType::fp8);
}

// nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4, hf_quant_config.json: whatever a layer is, it is its mixer.
TEST_CASE("quantization: Nemotron's mixers, and Gemma 4's MLPs beside experts, go by their own names") {
  Json nemotron = nemotron_config();
  nemotron.update({{"hybrid_override_pattern", "MEM*EM"},
                   {"n_routed_experts", 16},
                   {"num_experts_per_tok", 2},
                   {"n_shared_experts", 1},
                   {"moe_intermediate_size", 1856},
                   {"moe_shared_expert_intermediate_size", 3712}});
  nemotron["quantization_config"] = {
      {"quant_method", "modelopt"},
      {"quant_algo", "NVFP4"},
      {"exclude_modules",
       {"backbone.layers.3.mixer.q_proj", "backbone.layers.3.mixer.k_proj", "backbone.layers.3.mixer.v_proj",
        "backbone.layers.3.mixer.o_proj", "backbone.layers.2.mixer.in_proj",
        "backbone.layers.2.mixer.out_proj", "backbone.layers.2.mixer.conv1d",
        "backbone.layers.1.mixer.shared_experts.up_proj", "backbone.layers.1.mixer.shared_experts.down_proj",
        "lm_head"}}};
  Architecture m = test::read_config(nemotron);
  CHECK_FALSE(has_note(m, "none of its matrices"));
  Precision p = precision_of(m);
  CHECK(p.of(MatrixGroup::experts).weights == DataType::fp4);
  std::string wide;
  for (const LayerKind& layer : m.layers) {
    const bool attention = (layer.wide & only(MatrixGroup::attention)) != 0;
    const bool shared = (layer.wide & only(MatrixGroup::shared_expert)) != 0;
    wide += attention ? 'a' : shared ? 's' : '-';
  }
  CHECK(wide == "-saa--");

  Json gemma = {{"model_type", "gemma4_text"},  {"hidden_size", 2816},   {"num_hidden_layers", 6},
                {"num_attention_heads", 16},    {"head_dim", 256},       {"num_key_value_heads", 8},
                {"intermediate_size", 2112},    {"vocab_size", 262144},  {"max_position_embeddings", 262144},
                {"enable_moe_block", true},     {"num_experts", 128},    {"top_k_experts", 8},
                {"moe_intermediate_size", 704}, {"sliding_window", 1024}};
  gemma["hidden_size_per_layer_input"] = 0;
  Json names = Json::array({"lm_head"});
  for (int i = 0; i < 6; ++i)
    for (const char* module : {".mlp*", ".router*", ".self_attn*"})
      names.push_back("model.language_model.layers." + std::to_string(i) + module);
  gemma["quantization_config"] = {
      {"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"exclude_modules", names}};
  m = test::read_config(gemma);
  p = precision_of(m);
  CHECK(p.of(MatrixGroup::experts).weights == DataType::fp4);
  CHECK(p.of(MatrixGroup::shared_expert) == MatrixTypes{});
  CHECK(p.of(MatrixGroup::attention) == MatrixTypes{});
  CHECK_FALSE(has_note(m, "none of its matrices"));
}

// moonshotai's Kimi-K3, config.json: its linear attention goes by attention's name.
TEST_CASE("quantization: Kimi's linear attention is left alone with its self_attn") {
  Json config = test::deepseek_config();
  config.update({{"model_type", "kimi_linear"}, {"num_hidden_layers", 4}, {"hidden_size", 2304}});
  config["linear_attn_config"] = {{"full_attn_layers", {4}},
                                  {"kda_layers", {1, 2, 3}},
                                  {"head_dim", 128},
                                  {"num_heads", 32},
                                  {"short_conv_kernel_size", 4}};
  config["quantization_config"] = kimi_thinking;
  const Architecture m = test::read_config(config);
  CHECK(precision_of(m).of(MatrixGroup::attention) == MatrixTypes{});
  CHECK(precision_of(m).of(MatrixGroup::experts).weights == StoredType(DataType::int4, 32, false));
}

TEST_CASE("quantization: a wildcard that ends at a module means the matrices in it") {
  const Architecture m = checkpoint("gpt-oss-20b", mxfp4);  // model.layers.*.self_attn
  CHECK_FALSE(has_note(m, "none of its matrices"));
  CHECK(precision_of(m).of(MatrixGroup::attention) == MatrixTypes{});
}

TEST_CASE("quantization: patterns that would take minutes are a problem") {
  for (const char* slow : {"re:(((.?){20}){20}){20}\\d", "*?*?*?*?*?*?*?*?*1"}) {
    Json names = Json::array();
    for (int i = 0; i < 2000; ++i) names.push_back(slow + std::to_string(i));
    INFO(slow);
    Json config = fp8_blocks;
    config["modules_to_not_convert"] = names;
    CHECK_THROWS_WITH(checkpoint("llama3.1-8b", config), Catch::Contains("would take minutes"));
  }
}

TEST_CASE("quantization: blocks have two whole sides, whichever method has them") {
  const auto blocks = [](const char* method, const Json& sides) {
    Json config = {{"quant_method", method}, {"weight_block_size", sides}};
    const Json weights = {
        {"num_bits", 8}, {"type", "float"}, {"strategy", "block"}, {"block_structure", sides}};
    config["config_groups"]["group_0"]["weights"] = weights;
    return precision_of(checkpoint("llama3.1-8b", config)).of(MatrixGroup::mlp).weights;
  };
  for (const char* method : {"fp8", "compressed-tensors"}) {
    INFO(method);
    CHECK(blocks(method, {128, 128}) == DataType::fp8_block);
    CHECK(blocks(method, {64, 32}) == StoredType(DataType::fp8, 2048, false));
    CHECK(blocks(method, {32768, 32768}) == StoredType(DataType::fp8, 1 << 30, false));
    for (const Json& wrong : {Json::array({65536, 65536}), Json::array({1.5, 128}), Json::array({128}),
                              Json::array({1, 128, 128}), Json::array({0, 128})})
      CHECK_THROWS_AS(blocks(method, wrong), ConfigError);
  }
}

// vLLM's W_UK and W_UV are views of kv_b_proj where that has 16 bits, and copies where it has fewer.
TEST_CASE("footprint: matrices that latents are absorbed with are held once in 16 bits, else beside") {
  const Architecture m = catalog_model("deepseek-r1");
  const double each = 61. * 512 * 128 * 256, parameters = static_cast<double>(m.parameters());
  CHECK(weight_bytes(m, {}, {}, 0).value() == 2 * parameters);
  const Precision fp8{DataType::fp8, DataType::fp8};
  const Precision wide_attention = precision_of(m, {{"weights", "fp8"}, {"attention", "bf16"}});
  const double attention =
      61. * (7168. * 1536 + 1536. * 128 * 192 + 7168. * 576 + 512. * 128 * 256 + 128. * 128 * 7168);
  CHECK(weight_bytes(m, wide_attention, {}, 0).value() - weight_bytes(m, fp8, {}, 0).value() ==
        attention - 2 * each);
}

// By hand: 128 experts of 36 layers, three matrices of 3072 x 2944 for 2880 x 2880, 4.25 bits each.
TEST_CASE("footprint: mxfp4 experts are padded to the kernels' tiles") {
  const Architecture m = catalog_model("gpt-oss-120b");
  const Precision p = precision_of(m, {{"expert_weights", "mxfp4"}});
  const StageGraph stage = build_stage(m, p, {}, 0);
  const double more = 36. * 128 * 3 * (3072. * 2944 - 2880. * 2880) * 17 / 32;
  CHECK(padding_bytes(stage, {256, 128}).value() == more);
  CHECK(padding_bytes(stage, {}) == Bytes(0));
  // A public vLLM log: "Model loading took 65.9651 GiB".
  CHECK((stage.weights.all.value() + more) / 1073741824 == Approx(65.9651).epsilon(0.002));
  const StageGraph of_four = build_stage(m, p, {4}, 0);  // a width of 720, padded to 768
  CHECK(padding_bytes(of_four, {256, 128}).value() == 36. * 128 * 3 * (3072. * 768 - 2880. * 720) * 17 / 32);
  CHECK(padding_bytes(build_stage(m, {}, {}, 0), {256, 128}) == Bytes(0));  // bf16 experts
}

}  // namespace weir
