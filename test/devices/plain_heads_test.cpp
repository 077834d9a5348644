// Devices attend in different ways: GPUs to anything, what was built for heads with keys and values of their
// own to these alone.
#include <catch2/catch.hpp>

#include "devices/kernel_shapes.h"
#include "test/models/llm/models.h"

using namespace weir;

namespace {

std::vector<KernelWork> works_of(const StageGraph& stage) {
  std::vector<KernelWork> all;
  for (const Operator* op : operators_of(stage)) all.push_back(lowered(*op, {}));
  return all;
}

std::string refused(const char* model, const char* kind) {
  const Json none = Json::object();
  Reading reading("test.json");
  Params params(reading, none);
  const auto device = make_device(kind, params);
  const StageGraph stage = build_stage(catalog_model(model), {}, {}, 0);
  return device->cannot_run(works_of(stage));
}

}  // namespace

TEST_CASE("plain heads: GPUs attend in every way, NPUs to all keys and values alone, and say so") {
  using Catch::Contains;
  for (const char* model :
       {"deepseek-r1", "glm-5", "gpt-oss-20b", "qwen3.5-397b-a17b", "minimax-m2.5", "llama4-scout"})
    for (const char* gpu : {"a100_sxm_80gb", "h200_sxm", "b200_sxm"}) {
      INFO(model << " on " << gpu);
      CHECK(refused(model, gpu).empty());
    }
  CHECK_THAT(refused("deepseek-r1", "npu_only"), Contains("npu_only") && Contains("latents"));
  CHECK_THAT(refused("gpt-oss-20b", "npu_only"), Contains("sliding windows"));
  CHECK_THAT(refused("glm-5", "l2_npu"), Contains("indexer"));
  CHECK(refused("qwen3-8b", "npu_only").empty());
  CHECK(refused("qwen3.5-397b-a17b", "npu_only").empty());  // its states need no attention
}

TEST_CASE("plain heads: a shape with keys and values of one head is the same with and without their widths") {
  const Attention plain{.query_heads = 32, .kv_heads = 8, .head_dim = 128};
  const AttentionShape shape = attention_shape(plain);
  const AttentionShape same{.query_heads = 32, .kv_heads = 8, .head_dim = 128};
  CHECK(shape.flops_per_pair() == same.flops_per_pair());
  CHECK(shape.bytes_per_token() == same.bytes_per_token());
  CHECK(bytes_per_token(plain).value() == shape.bytes_per_token());
}
