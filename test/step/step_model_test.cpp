// What a step costs, summed and played: the step model against the timeline, operator by operator.
#include <catch2/catch.hpp>

#include "test/devices/rows.h"
#include "test/models/llm/models.h"
#include "test/step/played_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

Precision precision_on(const Device& device) {
  Precision precision;
  if (device.spec().peak(DataType::bf16) <= FlopsPerSecond(0))
    precision.weights = precision.activations = precision.kv_cache = DataType::fp16;
  return precision;
}
}  // namespace

TEST_CASE(
    "step model: summed and played, a serial step takes the same time, bytes and energy on every device",
    "[engine]") {
  std::mt19937_64 random(5);
  const std::vector<std::string> interconnects = {"nvlink4_switch", "nvlink3_switch", "hccs_mesh",
                                                  "pcie4_x16"};
  for (const std::string& kind : rows_that_run_models()) {
    int steps = 0;
    for (const char* model :
         {"llama3.1-8b", "falcon-40b", "mixtral-8x7b", "qwen3-30b-a3b", "opt-13b", "gpt-89b", "deepseek-r1",
          "glm-5", "gpt-oss-20b", "qwen3.5-397b-a17b", "minimax-m2.5"})
      for (const Sharding& cut :
           {Sharding{1, 1, 1}, Sharding{2, 3, 1}, Sharding{4, 2, 2}, Sharding{8, 1, 1}}) {
        const Architecture architecture = catalog_model(model);
        if (!sharding_problems(architecture, cut).empty()) continue;
        const bool fast = catalog_device(kind)->spec().own().bandwidth > BytesPerSecond(1e12);
        const Rank replica = replica_on(
            kind, fast ? interconnects[static_cast<std::size_t>(uniform_int(random, 0, 3))] : "pcie4_x16",
            uniform_int(random, 0, 1) ? "vllm" : "");
        for (int stage = 0; stage < cut.pipeline; ++stage) {
          CAPTURE(kind, model, cut.tensor, cut.pipeline, stage, replica.links.name);
          const StageGraph placed =
              place(replica, build_stage(architecture, precision_on(*replica.on), cut, stage));
          if (!replica.cannot_run(placed).empty()) continue;
          const StepModel summed(replica, placed, false);
          // On an NPU the branches of a parallel block may run side by side, and a shared expert beside
          // others.
          const bool npu = replica.on->spec().units.front().name == "systolic";
          const bool shared =
              architecture.most([](const LayerKind& layer) { return layer.moe.shared_intermediate; }) > 0;
          REQUIRE((summed.serial() || (npu && (architecture.parallel_block || shared))));
          if (!summed.serial()) continue;
          for (int i = 0; i < 3; ++i, ++steps) {
            const RandomBatch batch(random);
            const Seconds host = Seconds(1e-3) + static_cast<double>(batch.shape.sequences) * Seconds(1e-5);
            check_same(summed.step({batch.shape}), play(replica, placed, batch.shape, i > 0), host);
          }
        }
      }
    CAPTURE(kind);
    CHECK(steps > 30);
  }
}

TEST_CASE("step model: of every model and cut, a stage on a GPU runs one operator at a time", "[engine]") {
  const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "");
  int stages = 0;
  for (const Architecture& model : catalog_and_random_models())
    for (const Sharding& cut : shardings(model)) {
      if (cut.tensor > 4 || cut.pipeline > 2) continue;
      for (int stage = 0; stage < cut.pipeline; ++stage, ++stages) {
        CAPTURE(model.name, to_string(cut));
        REQUIRE(StepModel(replica, place(replica, build_stage(model, {}, cut, stage)), false).serial());
      }
    }
  CHECK(stages > 500);
}
