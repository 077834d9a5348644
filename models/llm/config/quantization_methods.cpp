// AWQ, GPTQ, fp8, fbgemm_fp8, compressed-tensors, modelopt, mxfp4. Keys are those that vLLM reads
// (vllm/model_executor/layers/quantization: awq.py, gptq.py, fp8.py, fbgemm_fp8.py, compressed_tensors/,
// modelopt.py, mxfp4.py), whose from_config and get_quant_method are what is followed here.
#include "models/llm/config/quantization_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/llm/config/quantization.h"

namespace weir {
namespace {

constexpr std::int64_t max_group = 1 << 16;
const std::vector<std::string> linear = {"Linear"};

std::vector<std::string> names(Params& p, const char* key) {
  std::vector<std::string> all;
  if (!p.has(key)) return all;
  const Json* given = p.value({key, ""}, {}, Json::array());
  if (!given) return all;
  const bool list = given->is_array();
  for (const Json& name : list ? *given : Json::array())
    if (name.is_string()) all.push_back(name.get<std::string>());
  if (!list || all.size() != given->size()) p.fail(key, "expected a list of names of modules");
  return all;
}

std::vector<std::string> unconverted(Params& p) {
  std::vector<std::string> all;
  for (const char* key : {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"})
    for (std::string& name : names(p, key)) all.push_back(std::move(name));
  return all;
}

bool flag(Params& p, const char* key, bool fallback) {
  return p.has(key) ? p.flag({key, ""}) : fallback;
}

// -1: a scale a column, which is too few to count.
int group_size(Params& p, int fallback) {
  if (!p.has("group_size")) return fallback;
  const std::int64_t size = p.integer({"group_size", ""}, {-1, max_group});
  return size > 0 ? static_cast<int>(size) : 0;
}

std::optional<DataType> integer_type(std::int64_t bits) {
  if (bits == 4) return DataType::int4;
  return bits == 8 ? std::optional(DataType::int8) : std::nullopt;
}

// AWQ and GPTQ keep a zero point to each group, GPTQ for symmetric ones too (qzeros).
void weights_of_integers(Params& p, QuantizationRules& rules, bool zeros) {
  const std::int64_t bits =
      p.has("bits") ? p.integer({"bits", ""}, {1, 16}) : p.integer({"w_bit", ""}, {1, 16}, 4);
  const auto type = integer_type(bits);
  if (!type) {
    p.fail("bits", fmt::format("expected 4 or 8 (got {})", bits));
    rules.wrong = true;
    return;
  }
  const int group = group_size(p, p.has("q_group_size") ? 0 : 128);
  rules.targets.push_back({linear, {StoredType(*type, group, zeros && group > 0), DataType::bf16}});
}

void awq(Params& p, QuantizationRules& rules) {
  weights_of_integers(p, rules, flag(p, "zero_point", true));
  rules.ignored = unconverted(p);
}

// "dynamic" of GPTQModel: "-:" and a regular expression leaves modules as they are, "+:" gives others.
void gptq(Params& p, QuantizationRules& rules) {
  weights_of_integers(p, rules, true);
  rules.head = flag(p, "lm_head", false);
  rules.ignored = unconverted(p);
  if (!p.has("dynamic")) return;
  const Json* dynamic = p.value({"dynamic", ""}, {}, Json::object());
  if (!dynamic || !dynamic->is_object()) return p.fail("dynamic", "expected an object");
  for (const auto& [pattern, other] : dynamic->items()) {
    if (pattern.starts_with("-:"))
      rules.ignored.push_back("re:.*" + pattern.substr(2));
    else
      rules.notes.push_back(
          fmt::format("its quantization_config gives other bits to {}: not read", shortened(pattern)));
  }
}

// `key` has the rows and columns of a block; wrong ones are problems.
StoredType fp8_in_blocks(Params& p, const char* key) {
  constexpr double most = 1 << 15;
  const std::vector<double> sides = p.numbers({key, ""}, 2, {1, most});
  const bool whole = std::ranges::all_of(sides, [](double side) { return side == std::floor(side); });
  if (sides.size() == 2 && whole && sides[0] * sides[1] != 128 * 128)
    return {DataType::fp8, static_cast<int>(sides[0] * sides[1]), false};
  if (sides.size() != 2 || !whole) p.fail(key, "expected two whole numbers");
  return DataType::fp8_block;
}

MatrixTypes blocks(Params& p) {
  if (!p.has("weight_block_size")) return {DataType::fp8, DataType::fp8};
  return {fp8_in_blocks(p, "weight_block_size"), DataType::fp8_block};
}

void fp8(Params& p, QuantizationRules& rules) {
  rules.targets.push_back({linear, blocks(p)});
  rules.ignored = unconverted(p);
}

void mxfp4(Params& p, QuantizationRules& rules) {
  rules.targets.push_back({linear, {DataType::mxfp4, DataType::bf16}});
  rules.experts_alone = true;
  rules.ignored = unconverted(p);
}

// One side of a scheme of compressed-tensors.
struct Scheme {
  std::int64_t bits = 16;
  std::string type, strategy;
  int group = 0;
  bool symmetric = true;
  StoredType block = DataType::fp8_block;  // of a strategy of blocks
};

Scheme read_scheme(Params p) {
  Scheme s;
  s.bits = p.integer({"num_bits", ""}, {1, 32}, 8);
  s.type = p.text({"type", ""}, "int");
  s.strategy = p.has("strategy") ? p.text({"strategy", ""}) : "";
  s.group = group_size(p, 0);
  s.symmetric = flag(p, "symmetric", true);
  if (p.has("block_structure") && s.strategy == "block") s.block = fp8_in_blocks(p, "block_structure");
  p.close_ignoring_rest();
  return s;
}

std::optional<StoredType> stored_by(const Scheme& s) {
  if (s.type == "float" && s.bits == 4) return s.group == 32 ? DataType::mxfp4 : DataType::fp4;
  if (s.type == "float" && s.bits == 8) {
    if (s.strategy == "block") return s.block;
    return s.group > 0 ? StoredType(DataType::fp8, s.group, false) : StoredType(DataType::fp8);
  }
  const auto type = s.type == "int" ? integer_type(s.bits) : std::nullopt;
  if (!type) return {};
  return StoredType(*type, s.group, !s.symmetric && s.group > 0);
}

// Without a scheme for activations they have 16 bits.
DataType multiplied_by(const StoredType& weights, const std::optional<Scheme>& inputs) {
  if (!inputs || inputs->bits >= 16) return DataType::bf16;
  if (inputs->bits == 4) return DataType::fp4;
  if (inputs->type == "int") return DataType::int8;
  return weights.number == DataType::fp8_block || weights.group > 0 ? DataType::fp8_block : DataType::fp8;
}

void one_config_group(Params group, QuantizationRules& rules) {
  const std::vector<std::string> targets = group.has("targets") ? names(group, "targets") : linear;
  if (!group.has("weights")) return group.close_ignoring_rest();
  const Scheme weights = read_scheme(group.object({"weights", ""}));
  std::optional<Scheme> inputs;
  if (group.has("input_activations")) inputs = read_scheme(group.object({"input_activations", ""}));
  const auto stored = stored_by(weights);
  if (!stored) {
    group.fail("weights", fmt::format("expected float of 4 or 8 bits, or int of 4 or 8 (got {} of {})",
                                      shortened(weights.type), weights.bits));
    rules.wrong = true;
  } else {
    rules.targets.push_back({targets, {*stored, multiplied_by(*stored, inputs)}});
  }
  group.close_ignoring_rest();
}

void config_groups(Params& p, QuantizationRules& rules) {
  Params groups = p.object({"config_groups", ""}, Params::Presence::required);
  const Json* all = p.value({"config_groups", ""}, {});
  if (all && all->is_object())
    for (const auto& [name, group] : all->items()) one_config_group(groups.object({name.c_str(), ""}), rules);
  groups.close_ignoring_rest();
}

void eight_bit_cache(Params& p, QuantizationRules& rules) {
  const char* key = "kv_cache_scheme";
  if (!p.has(key)) return;
  if (*p.value({key, ""}, {}) == Json("FP8")) {  // a word of modelopt 0.31
    rules.kv_cache = DataType::fp8;
  } else if (const Scheme scheme = read_scheme(p.object({key, ""})); scheme.bits == 8) {
    rules.kv_cache = scheme.type == "int" ? DataType::int8 : DataType::fp8;
  }
}

void compressed_tensors(Params& p, QuantizationRules& rules) {
  config_groups(p, rules);
  rules.head = true;
  rules.ignored = unconverted(p);
  eight_bit_cache(p, rules);
}

struct Algorithm {
  const char* name;
  MatrixTypes types;
};
const std::vector<Algorithm>& algorithms() {  // of modelopt
  static const std::vector<Algorithm> all = {
      {"FP8", {DataType::fp8, DataType::fp8}},
      {"FP8_PER_CHANNEL_PER_TOKEN", {DataType::fp8, DataType::fp8}},
      {"FP8_PB_WO", {DataType::fp8_block, DataType::fp8_block}},
      {"NVFP4", {DataType::fp4, DataType::fp4}},
      {"NVFP4_AWQ", {DataType::fp4, DataType::fp4}},
      {"W4A16_NVFP4", {DataType::fp4, DataType::bf16}},
      {"MXFP8", {StoredType(DataType::fp8, 128, false), DataType::fp8_block}},  // 1/32 B as 8 bits to 32
      {"W4A16_AWQ", {StoredType(DataType::int4, 128, false), DataType::bf16}},
      {"W4A8_AWQ", {StoredType(DataType::int4, 128, false), DataType::fp8}},
      {"W4A16_MXFP4", {DataType::mxfp4, DataType::bf16}},
      {"W4A8_MXFP4_FP8", {DataType::mxfp4, DataType::fp8}},
      {"W8A16", {DataType::int8, DataType::bf16}},
      {"W8A8_SQ_PER_CHANNEL", {DataType::int8, DataType::int8}},
  };
  return all;
}

std::optional<MatrixTypes> types_of_algorithm(Params& p, const std::string& name, QuantizationRules& rules) {
  const auto found = std::ranges::find(algorithms(), name, &Algorithm::name);
  if (found != algorithms().end()) {
    MatrixTypes types = found->types;
    if (takes_groups(types.weights.number) && types.weights.group > 0)
      types.weights.group = group_size(p, types.weights.group);
    return types;
  }
  std::vector<std::string> known = {"MIXED_PRECISION"};
  for (const Algorithm& a : algorithms()) known.emplace_back(a.name);
  rules.wrong = true;
  if (rules.unknown.insert(name).second) p.fail("quant_algo", no_such("quant_algo", name, known));
  return {};
}

// Each module with its own algorithm.
void mixed(Params& p, QuantizationRules& rules) {
  Params layers = p.object({"quantized_layers", ""}, Params::Presence::required);
  const Json* all = p.value({"quantized_layers", ""}, {});
  if (all && all->is_object())
    for (const auto& [name, layer] : all->items()) {
      Params one = layers.object({name.c_str(), ""});
      if (const auto types = types_of_algorithm(one, one.text({"quant_algo", ""}, ""), rules))
        rules.targets.push_back({{name}, *types});
      one.close_ignoring_rest();
    }
  layers.close_ignoring_rest();
}

void modelopt(Params& p, QuantizationRules& rules) {
  rules.head = true;
  const std::string algorithm = p.has("quant_algo") ? p.text({"quant_algo", ""}) : "";
  if (algorithm == "MIXED_PRECISION")
    mixed(p, rules);
  else if (algorithm.empty() && p.has("config_groups"))
    config_groups(p, rules);
  else if (const auto types = types_of_algorithm(p, algorithm, rules))
    rules.targets.push_back({linear, *types});
  rules.ignored = unconverted(p);
  if (p.has("kv_cache_quant_algo")) {
    if (p.text({"kv_cache_quant_algo", ""}) == "FP8") rules.kv_cache = DataType::fp8;
  } else {
    eight_bit_cache(p, rules);
  }
}

struct Method {
  const char* name;
  void (*read)(Params&, QuantizationRules&);
};
const std::vector<Method> methods = {
    {"awq", awq},           {"gptq", gptq},
    {"auto-round", gptq},   {"fp8", fp8},
    {"fbgemm_fp8", fp8},    {"compressed-tensors", compressed_tensors},
    {"modelopt", modelopt}, {"modelopt_fp4", modelopt},
    {"mxfp4", mxfp4},
};

}  // namespace

std::string quantization_methods() {
  std::string all;
  for (const Method& method : methods) all += (all.empty() ? "" : ", ") + std::string(method.name);
  return all;
}

QuantizationRules read_quantization_rules(Params& p) {
  QuantizationRules rules;
  rules.method = p.has("quant_method") ? p.text({"quant_method", ""}) : "";
  if (rules.method.empty() && p.has("quant_algo")) rules.method = "modelopt";
  for (const Method& method : methods)
    if (rules.method == method.name) {
      rules.read = true;
      method.read(p, rules);
    }
  if (rules.read && p.has("format")) rules.method += " " + shortened(p.text({"format", ""}), 40);
  return rules;
}

}  // namespace weir
