// Layers that are alike become one part of a stage.
#include <catch2/catch.hpp>
#include <random>

#include "models/llm/parts/layer_runs.h"
#include "test/models/llm/models.h"

using namespace weir;

namespace {

std::vector<LayerKind> layers(const std::string& letters) {
  std::vector<LayerKind> kinds;
  for (const char letter : letters) kinds.push_back({letter, {}});
  return kinds;
}

std::string letters_of(std::span<const LayerKind> layers) {
  std::string letters;
  for (const LayerKind& layer : layers) letters += static_cast<char>(layer.intermediate);
  return letters;
}

// "3 a, 2 ab": what is run how often.
std::string runs(const std::string& letters) {
  const std::vector<LayerKind> kinds = layers(letters);
  std::string text;
  for (const LayerRun& run : runs_of(kinds))
    text += (text.empty() ? "" : ", ") + std::to_string(run.times) + " " + letters_of(run.layers);
  return text;
}

}  // namespace

TEST_CASE(
    "layer runs: alike ones are one, first ones and every so-manyth that differ are runs of their own") {
  CHECK(runs("aaaa") == "4 a");
  CHECK(runs("aaabbbbb") == "3 a, 5 b");
  CHECK(runs("abababab") == "4 ab");
  CHECK(runs("aaabaaabaaab") == "3 aaab");
  CHECK(runs("cababab") == "1 c, 3 ab");
  CHECK(runs("ababa") == "2 ab, 1 a");
  CHECK(runs("abc") == "1 a, 1 b, 1 c");
  CHECK(runs("").empty());
}

TEST_CASE("layer runs: all layers of any model come, once and in their order") {
  std::mt19937 random(4);
  for (int round = 0; round < 500; ++round) {
    std::string letters;
    for (std::size_t left = random() % 40; left > 0; --left)
      letters += static_cast<char>('a' + (random() % 4 == 0 ? random() % 3 : left % (1 + random() % 2)));
    const std::vector<LayerKind> kinds = layers(letters);
    std::string unrolled;
    for (const LayerRun& run : runs_of(kinds))
      for (std::int64_t i = 0; i < run.times; ++i) unrolled += letters_of(run.layers);
    CHECK(unrolled == letters);
  }
}

TEST_CASE("layer runs: the parts of a pipeline's stages have the layers of the model, wherever it is cut") {
  Architecture m = catalog_model("qwen3-30b-a3b");
  for (std::size_t i = 0; i < m.layers.size(); i += 3) m.layers[i] = {6144, {}, m.layers[i].attention};
  for (const int pipeline : {1, 2, 5, 7}) {
    std::size_t dense = 0, experts = 0;
    for (int stage = 0; stage < pipeline; ++stage)
      for_each_operator(build_stage(m, {}, {1, pipeline, 1}, stage), [&](const Operator& op, double times) {
        dense += op.name == "gate_up_proj" ? static_cast<std::size_t>(times) : 0;
        experts += op.name == "moe_gate_up" ? static_cast<std::size_t>(times) : 0;
      });
    CHECK(dense == 16);
    CHECK(experts == 32);
  }
  CHECK(build_stage(m, {}, {}, 0).parts.size() == 3);  // between prologue and epilogue 16 times three layers
}
