// The reader of config.json on any bytes whatever: a model that can be weighed, or a problem. What begins
// like an object is a config.json as it stands. Else the first byte picks one of a family, the second one a
// quantization_config, the third one where the two stand; the other bytes are edits of that, two bytes each.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "models/llm/config/hugging_face.h"
#include "models/llm/operator_graph.h"
#include "test/fuzz/json_edits.h"

using namespace weir;

namespace {

// Few layers where no list has an element for each: a reading is over sooner.
Json small(Json config) {
  if (std::ranges::any_of(config, [](const Json& value) { return value.is_structured(); })) return config;
  for (const char* key : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"})
    if (config.contains(key)) config[key] = 4;
  return config;
}

const std::vector<Json> configs = [] {
  std::vector<Json> all;
  for (const Json& row : read_json_file(WEIR_SOURCE_DIR "/test/models/llm/published_families.json"))
    all.push_back(small(row["config"]));
  for (const auto& file : std::filesystem::directory_iterator(WEIR_SOURCE_DIR "/models/llm/catalog"))
    all.push_back(small(read_json_file(file.path())));
  all.push_back(parse_json(R"({"model_type": "deci", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 10, "head_dim": 8, "vocab_size": 100, "max_position_embeddings": 64, "block_configs": [
    {"attention": {"n_heads_in_group": 2, "no_op": false}, "ffn": {"ffn_mult": 2.5}},
    {"attention": {"no_op": true, "replace_with_linear": false}, "ffn": {"ffn_mult": 1, "no_op": false}}]})",
                           "deci"));
  std::ranges::sort(all, {}, [](const Json& config) { return config.dump(); });  // folders have no order
  return all;
}();

const Json quantizations = parse_json(R"([
  {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "modules_to_not_convert": ["lm_head"]},
  {"quant_method": "gptq", "bits": 8, "group_size": -1, "lm_head": true,
   "dynamic": {"-:.*mlp\\.gate_proj": {}, "+:.*down.*": {"bits": 8}}},
  {"quant_method": "fp8", "weight_block_size": [128, 128], "ignored_layers": ["model.layers.0", "re:.*q_proj"]},
  {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["model.layers.0.mlp.down_proj"]},
  {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]},
  {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {
     "targets": ["Linear", "re:.*experts\\..*"], "weights": {"num_bits": 4, "type": "int", "group_size": 32,
       "strategy": "group", "symmetric": false}, "input_activations": {"num_bits": 8, "type": "float"}},
     "group_1": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "block",
       "block_structure": [128, 128]}}}, "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "ignore": ["lm_head"]},
  {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
   "exclude_modules": ["lm_head", "*self_attn*", "model.layers.1*"]},
  {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
     "model.layers.1.self_attn.q_proj": {"quant_algo": "W4A16_AWQ", "group_size": 128}}},
  {"quant_method": "bitsandbytes", "load_in_4bit": true}])",
                                      "quantizations");

const std::vector<Json> values = {nullptr,
                                  true,
                                  false,
                                  0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  0.5,
                                  2.7,
                                  1e300,
                                  96,
                                  65536,
                                  262144,
                                  16777216,
                                  9223372036854775807,
                                  18446744073709551615u,
                                  "",
                                  "auto",
                                  "M*-E",
                                  "LLG",
                                  "FS",
                                  "re:(.*)*\\d+",
                                  "re:(",
                                  "*mlp*",
                                  "full_attention",
                                  "sliding_attention",
                                  "linear_attention",
                                  "mamba",
                                  "no_attention",
                                  "float32",
                                  "falcon_h1",
                                  "minimax_m2",
                                  "gpt_oss",
                                  "block",
                                  "float",
                                  "int",
                                  "FP8_PB_WO",
                                  Json::array(),
                                  Json::array({65536, 65536}),
                                  Json::array({1, 0, 1}),
                                  Json::array({"mamba", "attention"}),
                                  Json::array({Json::object()}),
                                  Json::object()};

Json begun(std::uint8_t family, std::uint8_t quantization, std::uint8_t where) {
  Json config = configs[family % configs.size()];
  const std::size_t method = quantization % (3 * quantizations.size());  // most have none, and are faster
  if (method < quantizations.size()) config["quantization_config"] = quantizations[method];
  if (where % 4 == 1) return {{"text_config", config}, {"vision_config", Json::object()}};
  if (where % 4 == 2) return {{"thinker_config", {{"text_config", config}}}};
  if (where % 4 == 3) config.update(configs[where % configs.size()]);  // keys of two families
  return config;
}

void check(const Architecture& m) {
  bool good = m.layer_count() >= 1 && m.hidden >= 1 && m.vocabulary >= 1 && m.positions >= 1;
  good = good && m.parameters() > 0 && m.active_parameters() > 0 && m.active_parameters() <= m.parameters();
  for (const LayerKind& layer : m.layers) {
    const auto* heads = std::get_if<HeadAttention>(&layer.attention);
    if (heads) good = good && heads->kv_heads >= 1 && heads->query_heads % heads->kv_heads == 0;
    good = good && (layer.has_attention() || layer.has_mlp()) && layer.moe.active <= layer.moe.experts;
  }
  if (!good || !sharding_problems(m, {}).empty()) std::abort();
  const Precision made = m.quantization && m.quantization->types ? *m.quantization->types : Precision{};
  for (const Precision& precision : {Precision{}, made}) {
    const double bytes = weight_bytes(m, precision, {}, 0).value();
    if (!std::isfinite(bytes) || bytes <= 0) std::abort();
    const double kept = kv_bytes_per_token(m, precision, {}, 0).value();
    if (!std::isfinite(kept) || kept < 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  try {
    Json config;
    if (data[0] == '{') {
      config = parse_json(std::string(data, data + size), "config.json", JsonOf::python);
    } else {
      config = begun(data[0], data[1], data[2]);
      test::edit(config, {data + 3, size - 3}, values);
    }
    Reading reading("config.json");
    const Architecture model = read_architecture(config, reading, "fuzz", data[2] % 8 == 4);
    reading.finish();
    check(model);
  } catch (const ConfigError& e) {
    if (e.problems().empty()) std::abort();
  }
  return 0;
}
