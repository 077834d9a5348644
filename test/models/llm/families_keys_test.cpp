// Keys of config.json files: known by several names, missing, null, unknown, harmless or telling.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <set>

#include "models/llm/config/config_reader.h"
#include "models/llm/config/hugging_face.h"
#include "test/models/llm/config_files.h"
#include "test/models/llm/models.h"

using namespace weir::test;

namespace weir {

namespace {

std::size_t lines(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(1 + std::ranges::count(text, '\n'));
}

}  // namespace

TEST_CASE("families: a key that is neither read nor known as harmless is noted by its name") {
  CHECK(notes_of_config(llama_config()).empty());
  for (const Json& value : {Json(4), Json(false), Json("x"), Json::array({1, 2})}) {
    Json config = llama_config();
    config["gated_residual_rank"] = value;
    config["rms_norm_eps"] = 1e-5;
    config["bos_token_id"] = 1;
    config["hidden_act"] = "silu";
    CHECK(notes_of_config(config) ==
          "config.json has keys that are not read, and that may change the model: gated_residual_rank\n");
  }
  Json none = llama_config();
  none["gated_residual_rank"] = nullptr;
  CHECK(notes_of_config(none).empty());
  Json part = {{"model_type", "llava"}, {"text_config", llama_config()}, {"strange_memory", 3}};
  part["text_config"]["gated_residual_rank"] = 1;
  CHECK_THAT(notes_of_config(part), Catch::Contains("change the model: gated_residual_rank, strange_memory"));
  Json many = llama_config();
  for (int i = 0; i < 1000; ++i) many["strange_" + std::to_string(i)] = i;
  CHECK_THAT(notes_of_config(many), Catch::Contains("and 960 more"));
}

TEST_CASE("families: the catalog's files have no key that is not known") {
  for (const Architecture& m : catalog_models())
    for (const std::string& note : m.notes) CHECK(note.find("not read") == std::string::npos);
}

TEST_CASE("families: keys that tell of layers are refused where the family does not have them") {
  for (const char* key :
       {"kv_lora_rank", "num_local_experts", "attn_type_list", "index_topk", "num_kv_shared_layers"}) {
    Json config = llama_config();
    config[key] = 2;
    CHECK_THAT(problems_of_config(config),
               Catch::Contains(std::string("/") + key + ": says of layers what Weir does not know"));
    config[key] = 0;
    CHECK(problems_of_config(config).empty());
  }
}

TEST_CASE("families: a second name of a key is the key, and contradicts it where it differs") {
  Json config = deepseek_config();
  const std::int64_t parameters = read_config(config).parameters();
  config["num_experts"] = 256;
  CHECK(read_config(config).parameters() == parameters);
  config.erase("n_routed_experts");
  CHECK(read_config(config).parameters() == parameters);
  config.erase("num_experts");
  config["num_routed_experts"] = 256;
  CHECK(read_config(config).parameters() == parameters);
  config["n_routed_experts"] = 128;
  CHECK(lines(problems_of_config(config)) == 1);
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("another name of n_routed_experts, and they differ (got 256 and 128)"));
  Json small = llama_config();
  small["n_layer"] = 32;
  small["d_model"] = 4096;
  CHECK(read_config(small).parameters() == read_config(llama_config()).parameters());
  small["n_layer"] = 31;
  CHECK_THAT(problems_of_config(small), Catch::Contains("/n_layer: is another name of num_hidden_layers"));
}

TEST_CASE("families: what is missing is one problem, without its consequences") {
  Json config = deepseek_config();
  config.erase("n_routed_experts");
  CHECK(lines(problems_of_config(config)) == 1);
  CHECK_THAT(problems_of_config(config),
             Catch::Contains("/num_experts: required, but missing, in a deepseek_v3 (model_type)"));
}

TEST_CASE("families: a null is none, and no default stands in for it") {
  Json config = {{"model_type", "mistral3"}, {"text_config", {{"model_type", "mistral"}}}};
  CHECK_THAT(notes_of_config(config), Catch::Contains("leaves out what is a default of MistralConfig: ") &&
                                          Catch::Contains("hidden_size 4096") &&
                                          Catch::Contains("sliding window of 4096"));
  config["text_config"]["sliding_window"] = nullptr;
  CHECK(notes_of_config(config).find("sliding window") == std::string::npos);
  CHECK(problems_of_config({{"model_type", "mistral"}}).find("/hidden_size: required, but missing") !=
        std::string::npos);
}

TEST_CASE("json: an object of 100,000 keys is read at once, and one of too many is refused") {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("\"model.layers.{}\": {},", i, i);
  const Json read = parse_json(text + "\"last\": 1}", "f");
  CHECK(read.size() == 100'001);
  CHECK(read["model.layers.99999"] == 99999);
  for (int i = 0; i < 160'000; ++i) text += fmt::format("\"more.{}\": 1,", i);
  CHECK_THROWS_WITH(parse_json(text + "\"last\": 1}", "f"),
                    Catch::Contains("more than 250000 keys in one object"));
  CHECK_THROWS_WITH(parse_json(text + "\"last\": 1", "f"), Catch::Contains("more than 250000 keys"));
}

}  // namespace weir
