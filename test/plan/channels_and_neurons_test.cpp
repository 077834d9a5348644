// KV caches in several channels, a machine's rooms for neurons, and drafts that go over, by hand.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/neurons/neuron_plan.h"
#include "sim/plan/plan.h"
#include "test/serving/neurons/hermes_scenario.h"

using namespace weir;

namespace {

// gpt3-7b: 32 heads of 128, on four NPUs with PIM in 32 channels each.
Json on_channels(const Json& parallelism, int blocks) {
  Json s = test::small_scenario();
  s["model"] = "gpt3-7b";
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "neupims_npu"}, {"count", 4}}}}, {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = {{{"parallelism", parallelism},
                               {"kv_cache", {{"blocks", blocks}}},
                               {"partitioning", {{"kind", "npu_pim"}}}}};
  return s;
}

NeuronMachine neurons_of(int followed, int dimms, double gib) {
  const Json s = test::hermes_scenario({{"followed_layers", followed}},
                                       {{"dimms", dimms}, {"dimm_capacity_gib", gib}}, {});
  return read_plan(s, "test.json").replicas[0].neurons->machine;
}

}  // namespace

TEST_CASE("channels: blocks are shared evenly by a device's channels, and heads are a rank's") {
  for (const auto& [tensor, pipeline] : {std::pair(4, 1), {2, 2}}) {
    const ReplicaPlan plan =
        read_plan(on_channels({{"tensor", tensor}, {"pipeline", pipeline}}, 96), "test.json").replicas[0];
    CAPTURE(tensor);
    CHECK(plan.kv_pools.blocks == std::vector<std::int64_t>(32, 3));
    CHECK(plan.kv_pools.of_channel.size() == 32);
    CHECK((plan.kv_pools.of_channel.front() == 0 && plan.kv_pools.of_channel.back() == 31));
    CHECK(plan.kv_pools.spare_channel == -1);
    CHECK(plan.kv_blocks == 96);
    CHECK(plan.memory.kv_tokens == 96 * 16);
    CHECK(plan.mha.heads == 32 / tensor);
    CHECK(plan.mha.embedding == 32 / tensor * 128);
  }
  const std::vector<Problem> uneven = test::problems_of_scenario(on_channels({{"tensor", 4}}, 97));
  REQUIRE(uneven.size() == 1);
  CHECK(uneven[0].pointer == "/serving/replicas/0/kv_cache/blocks");
  CHECK_THAT(uneven[0].what, Catch::Contains("a multiple of the 32 memory channels of neupims_npu") &&
                                 Catch::EndsWith("(got 97)"));
}

// Three blocks of a channel are 48 tokens, and serve 49.
TEST_CASE("channels: the longest request that is allowed fits into one of them") {
  Json s = on_channels({{"tensor", 4}}, 96);
  s["serving"]["replicas"][0]["max_model_len"] = 49;
  CHECK(test::problems_of_scenario(s).empty());
  s["serving"]["replicas"][0]["max_model_len"] = 50;
  const std::vector<Problem> problems = test::problems_of_scenario(s);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0].what,
             Catch::Contains("the longest that 3 KV blocks of 16 tokens (of one memory channel) and"));
}

// opt-13b has 40 layers; a neuron of its MLP has a row and a column of 5,120 weights of two bytes.
TEST_CASE("neurons: followed layers have their share of each room, and a DIMM its own of the memory") {
  const NeuronMachine all = neurons_of(40, 4, 32), some = neurons_of(10, 4, 32), more = neurons_of(40, 8, 32);
  CHECK((all.dimms == 4 && more.dimms == 8));
  CHECK(some.gpu_room.value() == Approx(all.gpu_room.value() / 4));
  CHECK(some.dimm_room.value() == Approx(all.dimm_room.value() / 4));
  CHECK(all.costs.mlp.bytes.value() == 2 * 5120 * 2);
  // Four GiB more of each DIMM, of which ten of forty layers have one.
  CHECK((neurons_of(40, 4, 36).dimm_room - all.dimm_room).value() == Approx(4. * 1073741824));
  CHECK((neurons_of(10, 4, 36).dimm_room - some.dimm_room).value() == Approx(1073741824.));
}

TEST_CASE("speculation: what is handed over was drafted by the same kind and the same model") {
  const auto refused = [](const Json& prefill, const Json& decode) {
    Json s = test::small_scenario();
    s["serving"]["replicas"] = {{{"role", "prefill"}, {"speculative", prefill}},
                                {{"role", "decode"}, {"speculative", decode}}};
    return test::problems_of_scenario(s).size();
  };
  const Json mtp = {{"kind", "mtp"}, {"acceptance_length", 2}},
             eagle = {{"kind", "eagle"}, {"acceptance_length", 2}};
  const auto model = [](const char* name) {
    return Json{{"kind", "draft"}, {"acceptance_length", 2}, {"model", name}};
  };
  CHECK(refused(mtp, eagle) == 1);
  CHECK(refused(eagle, eagle) == 0);
  CHECK(refused(model("llama3.1-8b"), model("llama3-8b")) == 1);
  CHECK(refused(model("llama3-8b"), model("llama3-8b")) == 0);
}
