// Messages on wrong input say which name was meant, and nothing that steers a terminal.
#include "sim/core/errors.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace weir;

TEST_CASE(
    "names: another case, a maker, an organisation and what stands behind a name are no reason to miss it") {
  const std::vector<std::string> models = {"llama2-7b",    "llama3-8b",     "llama3.1-70b", "llama3.1-8b",
                                           "mixtral-8x7b", "mixtral-8x22b", "opt-13b",      "qwen3-30b-a3b"};
  const std::vector<std::string> devices = {"a100_sxm_40gb", "a100_sxm_80gb", "h100_sxm", "h200_sxm",
                                            "rtx3090",       "rtx4090",       "t4"};
  const std::vector<std::array<std::string, 2>> meant_models = {
      {"LLAMA3.1-8B", "llama3.1-8b"},
      {"meta-llama/Llama-3.1-8B-Instruct", "llama3.1-8b"},
      {"meta-llama/Llama-3.1-70B-Instruct", "llama3.1-70b"},
      {"neuralmagic/Meta-Llama-3.1-8B-FP8", "llama3.1-8b"},
      {"meta-llama/Llama-2-7b-chat-hf", "llama2-7b"},
      {"meta-llama/Meta-Llama-3-8B", "llama3-8b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"facebook/opt-13b", "opt-13b"}};
  for (const auto& [given, meant] : meant_models) {
    INFO(given);
    CHECK(nearest_name(given, models) == meant);
  }
  const std::vector<std::array<std::string, 2>> meant_devices = {{"H100", "h100_sxm"},
                                                                 {"h100", "h100_sxm"},
                                                                 {"NVIDIA H100 SXM", "h100_sxm"},
                                                                 {"nvidia_h200", "h200_sxm"},
                                                                 {"NVIDIA A100-SXM-80GB", "a100_sxm_80gb"},
                                                                 {"NVIDIA GeForce RTX 4090", "rtx4090"},
                                                                 {"Tesla T4", "t4"}};
  for (const auto& [given, meant] : meant_devices) {
    INFO(given);
    CHECK(nearest_name(given, devices) == meant);
  }
  for (const char* nothing : {"", "/", "-", "nvidia", "gemma", "meta-llama/"})
    CHECK(nearest_name(nothing, devices) == "");
  CHECK(nearest_name(std::string(1 << 20, 'x'), devices) == "");
}

TEST_CASE("errors: what a file holds does not steer the terminal") {
  CHECK(std::string(ConfigError("f", "/a", "got \x1b[2J\t\xc3\xa9").what()) == "f: /a: got ?[2J?\xc3\xa9");
}

TEST_CASE("errors: a name that only goes on, or is one slip away, is the one that was meant") {
  const std::vector<std::string> known = {"h100_sxm", "a100_sxm_80gb", "rtx4090"};
  CHECK(nearest_name("h100", known) == "h100_sxm");
  CHECK(nearest_name("rtx4900", known) == "rtx4090");
  CHECK(nearest_name("tpu", known) == "");
  CHECK(nearest_name("", known) == "");
}
