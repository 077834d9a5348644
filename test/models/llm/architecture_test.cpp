#include "models/llm/architecture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "sim/core/embedded.h"
#include "test/models/llm/models.h"

namespace weir {

extern const EmbeddedFiles model_catalog;

TEST_CASE("architecture: every catalog model has the parameters it was published with") {
  for (const auto& [name, text] : model_catalog) {
    INFO(name);
    const Json file = parse_json(std::string(text), std::string(name));
    const auto published = file.at("published_parameters").get<std::int64_t>();
    const auto rounding =
        file.value("published_rounding", std::int64_t{0});  // 0: the exact count was published
    CHECK(std::abs(catalog_model(std::string(name)).parameters() - published) <= rounding);
    CHECK_FALSE(file.at("source").get<std::string>().empty());
  }
}

TEST_CASE("architecture: the catalog holds the models of the design") {
  const auto names = architecture_names();
  const std::set<std::string> held(names.begin(), names.end());
  for (const char* name :
       {"llama2-7b",    "llama2-13b",    "llama2-70b",    "llama3-8b",   "llama3-70b", "llama3.1-8b",
        "llama3.1-70b", "llama3.1-405b", "codellama-34b", "qwen2-7b",    "qwen2-72b",  "qwen1.5-110b",
        "qwen3-32b",    "qwen3-30b-a3b", "phi3-small",    "phi3-medium", "phi3.5-moe", "mistral-7b",
        "mixtral-8x7b", "mixtral-8x22b", "opt-13b",       "opt-30b",     "opt-66b",    "falcon-40b",
        "gpt3-7b",      "gpt3-13b",      "gpt3-30b",      "gpt3-175b",   "gpt-89b"})
    CHECK(held.count(name) == 1);
}

TEST_CASE("architecture: a mixture of experts has the active parameters it was published with") {
  // Mixtral (arXiv 2401.04088): 12.9B of 46.7B; Mistral on 8x22B: 39B active; Qwen3 (2505.09388): 3.3B;
  // the model card of Phi-3.5-MoE: 6.6B.
  CHECK(catalog_model("mixtral-8x7b").active_parameters() == Approx(12.9e9).margin(0.05e9));
  CHECK(catalog_model("mixtral-8x22b").active_parameters() == Approx(39e9).margin(0.5e9));
  CHECK(catalog_model("qwen3-30b-a3b").active_parameters() == Approx(3.3e9).margin(0.06e9));
  CHECK(catalog_model("phi3.5-moe").active_parameters() == Approx(6.6e9).margin(0.05e9));
  for (const Architecture& m : catalog_models()) {
    INFO(m.name);
    const bool all_active = std::all_of(m.layers.begin(), m.layers.end(), [](const LayerKind& layer) {
      return layer.moe.experts == layer.moe.active;
    });
    CHECK((m.active_parameters() == m.parameters()) == all_active);
  }
}

TEST_CASE(
    "architecture: a forward pass takes two flops a parameter it multiplies with, and PaLM's term for "
    "attention") {
  // PaLM (arXiv 2204.02311), appendix B: 2 N + 4 L H Q T forward, H heads of size Q at context T. N leaves
  // out the tables that are only looked up; norms and biases, counted in N, are under 0.1 % of it.
  for (const Architecture& m : catalog_models()) {
    INFO(m.name);
    const auto looked_up = (m.tied_embeddings ? 0 : m.vocabulary) + m.learned_positions;
    const double n = static_cast<double>(m.active_parameters() - looked_up * m.hidden);
    for (const std::int64_t context : {0, 1, 2048, 131072}) {
      double attention = 0;
      for (const LayerKind& layer : m.layers)
        if (const auto* heads = std::get_if<HeadAttention>(&layer.attention)) {
          const std::int64_t seen = heads->window > 0 ? std::min(heads->window, context) : context;
          attention += 4. * static_cast<double>(heads->query_heads * heads->head_dim * seen);
        } else {
          attention += 2 * attending_work(layer.attention, context);
        }
      CHECK(flops_per_token(m, context).value() == Approx(2 * n + attention).epsilon(1e-3));
    }
  }
}

TEST_CASE(
    "architecture: training compute published for GPT-3 and Llama 3.1 is three forward passes a token") {
  // GPT-3 (arXiv 2005.14165), table D.1: 3.14e23 flops over 300e9 tokens; Llama 3 (2407.21783), section 3.2:
  // 3.8e25 over 15.6e12. Both without attention's own share.
  CHECK(flops_per_token(catalog_model("gpt3-175b"), 0).value() == Approx(3.14e23 / 300e9 / 3).epsilon(0.005));
  CHECK(flops_per_token(catalog_model("llama3.1-405b"), 0).value() ==
        Approx(3.8e25 / 15.6e12 / 3).epsilon(0.01));
}

TEST_CASE("architecture: the KV cache of a token is two vectors a KV head and layer") {
  CHECK(catalog_model("llama3.1-8b").kv_elements_per_token() * 2 == 128 << 10);    // GQA
  CHECK(catalog_model("llama2-70b").kv_elements_per_token() * 2 == 320 << 10);     // GQA
  CHECK(catalog_model("gpt3-175b").kv_elements_per_token() * 2 == (9 << 20) / 2);  // MHA: 4.5 MiB
}

TEST_CASE("precision: keys default to bf16, and int4 is for weights only") {
  auto read = [](const char* text, Reading& reading) {
    const Json json = parse_json(text, "test.json");
    return read_params<Precision>(Params(reading, json));
  };
  Reading plain("test.json"), mixed("test.json"), wrong("test.json");
  const Precision p = read("{}", plain);
  CHECK((p.weights == DataType::bf16 && p.activations == DataType::bf16 && p.kv_cache == DataType::bf16));
  const Precision q = read(R"({"weights": "int4", "activations": "fp16", "kv_cache": "fp8"})", mixed);
  CHECK((q.weights == DataType::int4 && q.activations == DataType::fp16 && q.kv_cache == DataType::fp8));
  CHECK_FALSE((plain.failed() || mixed.failed()));
  Reading blocks("test.json"), four("test.json");
  const Precision b =
      read(R"({"weights": "fp8_block", "activations": "fp8_block", "kv_cache": "fp8"})", blocks);
  CHECK((b.weights == DataType::fp8_block && b.activations == DataType::fp8_block));
  const Precision f = read(R"({"weights": "mxfp4", "activations": "fp4"})", four);
  CHECK((f.weights == DataType::mxfp4 && f.activations == DataType::fp4));
  CHECK_FALSE((blocks.failed() || four.failed()));
  CHECK(bytes_per_element(DataType::fp4) == 4.5 / 8);
  CHECK(bytes_per_element(DataType::mxfp4) == 4.25 / 8);
  CHECK(bytes_per_element(DataType::fp8_block) == Approx(1 + 4. / 16384));
  Reading cache("test.json");
  read(R"({"kv_cache": "fp4"})", cache);
  CHECK_THROWS_WITH(cache.finish(), Catch::Contains("/kv_cache: "));
  read(R"({"weights": "fp7", "activations": "int4", "kv_cache": 8})", wrong);
  CHECK_THROWS_WITH(wrong.finish(), Catch::Contains("/weights: no such weights (got \"fp7\"") &&
                                        Catch::Contains("/activations: ") && Catch::Contains("/kv_cache: "));
}

TEST_CASE("precision: what is between GEMMs and what is not quantised keeps 16 bits") {
  using enum DataType;
  auto hidden = [](DataType w, DataType a) { return Precision{w, a, bf16}.hidden(); };
  auto kept = [](DataType w, DataType a) { return Precision{w, a, bf16}.unquantised_weights(); };
  CHECK((hidden(bf16, bf16) == bf16 && kept(bf16, bf16) == bf16));
  CHECK((hidden(fp8, fp16) == fp16 && kept(fp8, fp16) == fp16));
  CHECK((hidden(fp8, fp8) == bf16 && kept(int8, int8) == bf16));
  CHECK((hidden(fp16, fp8) == fp16 && kept(fp32, bf16) == fp32));
  const Precision said{int8, int8, int8, int8};
  CHECK((said.hidden() == int8 && said.unquantised() == bf16 && said.unquantised_weights() == bf16));
  for (const DataType w : all_data_types)
    for (const DataType a : {fp32, bf16, fp16, fp8, int8, fp8_block, fp4, mxfp4}) {
      CHECK(bytes_per_element(hidden(w, a)) >= 2);
      CHECK(bytes_per_element(kept(w, a)) >= 2);
    }
}

}  // namespace weir
