#include "models/llm/config/hugging_face.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "test/models/llm/config_files.h"
#include "test/models/llm/models.h"

using namespace weir::test;

namespace weir {
namespace {

Architecture read(const std::string& text) {
  Reading reading("config.json");
  const Json config = parse_json(text, "config.json");
  Architecture m = read_architecture(config, reading, "test");
  reading.finish();
  return m;
}

// The llama-like file that most tests bend.
Json small_llama() {
  return parse_json(R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192,
      "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": true})",
                    "config.json");
}

// A folder that goes when the test ends.
struct TemporaryFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir_llm_" + std::to_string(std::random_device{}()));
  TemporaryFolder() { std::filesystem::create_directories(path / "My-Llama"); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

}  // namespace

TEST_CASE("config.json: files of other families give the parameter counts of their checkpoints") {
  // Counts: safetensors metadata or model.num_parameters() as published with each model.
  CHECK(read(small_llama().dump()).parameters() == 1235814400);  // Llama-3.2-1B, tied
  CHECK(read(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
                 "n_inner": null, "vocab_size": 50257})")
            .parameters() == 124439808);
  CHECK(
      read(
          R"({"model_type": "gpt_neox", "hidden_size": 5120, "num_hidden_layers": 36, "num_attention_heads": 40,
                 "intermediate_size": 20480, "vocab_size": 50688, "max_position_embeddings": 2048, "rotary_pct": 0.25})")
          .parameters() == 11846072320);  // Pythia-12B
  CHECK(
      read(
          R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
                 "num_key_value_heads": 16, "intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
                 "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "vocab_size": 151936,
                 "max_position_embeddings": 8192, "tie_word_embeddings": false})")
          .parameters() == 14315784192);  // Qwen1.5-MoE-A2.7B
  CHECK(
      read(R"({"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
                 "intermediate_size": 24576, "vocab_size": 256000, "max_position_embeddings": 8192})")
          .parameters() == 8537680896);  // Gemma-7B
  CHECK(
      read(
          R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
                 "multi_query": true, "parallel_attn": true, "bias": false, "vocab_size": 65024})")
          .parameters() == 6921720704);  // Falcon-7B
  CHECK(read(R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                 "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768})")
            .parameters() == 125239296);
  CHECK(
      read(R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
                 "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064, "sliding_window": 2047,
                 "max_position_embeddings": 4096, "tie_word_embeddings": false})")
          .parameters() == 3821079552);  // Phi-3-mini
}

TEST_CASE("config.json: what a file leaves out or sets to null has the library's default") {
  Json file = small_llama();
  file["head_dim"] = nullptr;
  file.erase("num_key_value_heads");
  file.erase("tie_word_embeddings");
  const Architecture m = read(file.dump());
  CHECK(heads_of(m).head_dim == 64);
  CHECK(heads_of(m).kv_heads == 32);
  CHECK_FALSE(m.tied_embeddings);
  CHECK(heads_of(m).rotary_dim == 64);
  CHECK_FALSE(
      (heads_of(m).qkv_bias || heads_of(m).o_bias || m.mlp_bias || m.norm_vectors != 1 || m.parallel_block));
  file["attention_bias"] = true;
  file["partial_rotary_factor"] = 0.5;
  CHECK(heads_of(read(file.dump())).o_bias);
  CHECK(heads_of(read(file.dump())).rotary_dim == 32);
}

TEST_CASE("config.json: falcon's three ways to share KV heads") {
  const std::string sizes = R"("model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2,
                               "num_attention_heads": 8, "vocab_size": 100)";
  const Architecture grouped =
      read("{" + sizes + R"(, "new_decoder_architecture": true, "num_kv_heads": 2})");
  CHECK((heads_of(grouped).kv_heads == 2 && grouped.parallel_block && grouped.block_norms == 2 &&
         heads_of(grouped).rotary_dim == 64));
  const Architecture single = read("{" + sizes + "}");
  CHECK((heads_of(single).kv_heads == 1 && single.parallel_block && single.block_norms == 1 &&
         single.tied_embeddings));
  const Architecture plain =
      read("{" + sizes + R"(, "multi_query": false, "parallel_attn": false, "alibi": true})");
  CHECK((heads_of(plain).kv_heads == 8 && !plain.parallel_block && plain.block_norms == 2 &&
         heads_of(plain).rotary_dim == 0));
}

TEST_CASE("config.json: the language model of a model that sees is read from text_config") {
  Json file = parse_json(R"({"model_type": "llava", "vision_config": {"hidden_size": 1}})", "config.json");
  file["text_config"] = small_llama();
  const Architecture m = read(file.dump());
  CHECK(m.parameters() == 1235814400);
  CHECK(m.notes.size() == 1);
  file["text_config"]["hidden_size"] = -1;
  CHECK(problems_of_config(file).find("/text_config/hidden_size: expected an integer") != std::string::npos);
  file["text_config"] = 7;
  CHECK(problems_of_config(file).find("/text_config: expected an object") != std::string::npos);
}

TEST_CASE("config.json: what is not modelled is said") {
  Json file = small_llama();
  file["model_type"] = "mistral";
  file["sliding_window"] = 131072;
  CHECK(read(file.dump()).notes.empty());  // as long as the context: no window
  file["sliding_window"] = 131071;
  CHECK(read(file.dump()).notes.size() == 1);
  file["use_sliding_window"] = false;
  CHECK(read(file.dump()).notes.empty());
  file["quantization_config"] = {{"quant_method", "fp8"}};
  const Architecture quantised = read(file.dump());
  REQUIRE(quantised.notes.size() == 1);
  CHECK(quantised.notes[0].find("quantization_config") != std::string::npos);
  CHECK(quantised.parameters() == 1235814400);
}

TEST_CASE("config.json: every problem is listed with its pointer") {
  Json file = small_llama();
  file.erase("vocab_size");
  file["hidden_size"] = "wide";
  file["num_hidden_layers"] = 0;
  file["intermediate_size"] = 8192.5;
  file["tie_word_embeddings"] = 1;
  const std::string listed = problems_of_config(file);
  for (const char* line :
       {"/vocab_size: required, but missing", "/hidden_size: expected an integer",
        "/num_hidden_layers: expected an integer", "/intermediate_size: expected an integer",
        "/tie_word_embeddings: expected true or false"}) {
    INFO(listed);
    CHECK(listed.find(line) != std::string::npos);
  }
}

TEST_CASE("config.json: a model that cannot be simulated is refused with the reason") {
  auto refused = [](const char* key, const Json& value, const char* reason, Json file = small_llama()) {
    file[key] = value;
    INFO(key << ": " << problems_of_config(file));
    CHECK(problems_of_config(file).find(reason) != std::string::npos);
  };
  refused("model_type", "llama5", "/model_type: no such model_type (got \"llama5\"");
  refused("model_type", "llama5", "qwen3_moe");
  for (const char* near : {"lama", "llama5", "qwen4", "t5x"}) {  // a spelling says nothing of its layers
    Json file = small_llama();
    file["model_type"] = near;
    CHECK(problems_of_config(file).find("did you mean") == std::string::npos);
  }
  refused("model_type", "t5", "/model_type: t5 is an encoder-decoder");
  refused("model_type", "bert", "/model_type: bert is an encoder,");
  refused("model_type", "gemma3n_text",
          "/model_type: gemma3n_text has embeddings of their own in every layer");
  refused("is_encoder_decoder", true, "/is_encoder_decoder: is true: Weir simulates decoders alone");
  refused("model_type", nullptr, "/model_type: expected one of");
  refused("num_key_value_heads", 5, "/num_key_value_heads: 5 KV heads do not divide 32");
  refused("num_attention_heads", 24, "/num_attention_heads: 24 heads do not divide a hidden_size of 2048",
          [] {
            Json file = small_llama();
            file.erase("head_dim");
            return file;
          }());
  Json opt = parse_json(R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072,
      "num_attention_heads": 12, "vocab_size": 50272, "max_position_embeddings": 2048})",
                        "config.json");
  CHECK(problems_of_config(opt).empty());
  refused("word_embed_proj_dim", 512, "/word_embed_proj_dim: only hidden_size", opt);
  refused("do_layer_norm_before", false, "/do_layer_norm_before: only true", opt);
  Json moe = small_llama();
  moe["model_type"] = "qwen3_moe";
  moe["num_experts"] = 8;
  moe["num_experts_per_tok"] = 8;
  moe["moe_intermediate_size"] = 64;
  CHECK(problems_of_config(moe).empty());
  refused("num_experts_per_tok", 9, "/num_experts_per_tok: expected an integer >= 1 and <= 8", moe);
  refused("mlp_only_layers", Json::array({0, 16}),
          "/mlp_only_layers: expected a list of integers from 0 to 15", moe);
  refused("mlp_only_layers", Json::array({1.5}), "/mlp_only_layers: expected a list of integers from 0 to 15",
          moe);
}

TEST_CASE("config.json: layers without experts between those that have them") {
  Json config = small_llama();
  config.update({{"model_type", "qwen3_moe"},
                 {"num_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 64}});
  const auto experts = [&](const char* key, const Json& value) {
    Json changed = config;
    changed[key] = value;
    std::string layers;
    for (const LayerKind& layer : read(changed.dump()).layers) {
      CHECK((layer.intermediate > 0) == (layer.moe.experts == 0));
      layers += layer.moe.experts > 0 ? 'e' : 'd';
    }
    return layers;
  };
  CHECK(experts("decoder_sparse_step", 1) == std::string(16, 'e'));
  CHECK(experts("decoder_sparse_step", 3) == "ddeddeddeddedded");
  CHECK(experts("mlp_only_layers", Json::array({0, 15})) == "deeeeeeeeeeeeeed");
}

TEST_CASE("config.json: anything that is not an object is an error and no crash") {
  for (const char* text :
       {"[]", "7", "null", "\"llama\"", "{}", R"({"model_type": ["llama"]})", R"({"model_type": 1})"})
    CHECK_FALSE(problems_of_config(parse_json(text, "config.json")).empty());
}

TEST_CASE("find_architecture: a path is a config.json or its folder, relative to the file that names it") {
  const TemporaryFolder folder;
  folder.write("My-Llama/config.json", small_llama().dump());
  folder.write("mine.json", small_llama().dump());
  const std::string scenario = (folder.path / "scenario.json").string();
  for (const auto& [text, name] :
       std::vector<std::pair<std::string, std::string>>{{"My-Llama/config.json", "My-Llama"},
                                                        {"My-Llama/", "My-Llama"},
                                                        {"./My-Llama", "My-Llama"},
                                                        {"mine.json", "mine"},
                                                        {(folder.path / "mine.json").string(), "mine"}}) {
    INFO(text);
    Reading reading(scenario);
    const Architecture m = find_architecture(text, reading, "/model");
    CHECK_FALSE(reading.failed());
    CHECK(m.parameters() == 1235814400);
    CHECK(m.name == name);
  }
}

TEST_CASE("find_architecture: a file's problems are told where the scenario names it") {
  const TemporaryFolder folder;
  folder.write("mine.json", R"({"model_type": "llama", "hidden_size": 64})");
  folder.write("broken.json", "{");
  auto told = [&](const char* text) {
    Reading reading((folder.path / "scenario.json").string());
    find_architecture(text, reading, "/model");
    std::string all;
    try {
      reading.finish();
    } catch (const ConfigError& e) {
      for (const Problem& p : e.problems()) all += p.pointer + ": " + p.what + "\n";
    }
    return all;
  };
  CHECK_THAT(told("mine.json"), Catch::Contains("/model: " + (folder.path / "mine.json").string() +
                                                ": /num_hidden_layers: required, but missing") &&
                                    Catch::Contains("/vocab_size: required, but missing"));
  CHECK_THAT(told("broken.json"), Catch::Contains("not valid JSON"));
  CHECK_THAT(told("nowhere/config.json"), Catch::Contains("cannot be opened"));
  CHECK_THAT(told("llama3.1-8"),
             Catch::Contains("/model: no such model (got \"llama3.1-8\", did you mean \"llama3.1-8b\"?"));
  CHECK_THAT(told(""), Catch::Contains("/model: no such model"));
}

TEST_CASE("find_architecture: while a schema is written, any model will do") {
  Reading reading = Reading::describe();
  CHECK(find_architecture("", reading, "/model").name == architecture_names().front());
}

}  // namespace weir
