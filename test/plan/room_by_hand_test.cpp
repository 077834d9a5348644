// Rooms for keys and values, worked out by hand: of the free memory, of swap space, of tiers.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/plan/plan.h"
#include "test/serving/run_in_child.h"

using namespace weir;
using test::Outcome;

namespace {

constexpr double llama_block =
    16 * 131072.;  // 2 x 32 layers x 8 KV heads x 128 x 2 bytes; a block of 16 tokens

ReplicaPlan planned_with(const Json& replica, const std::string& model = "llama3.1-8b", int devices = 1) {
  Json s = test::small_scenario();
  s["model"] = model;
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}}, {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = {replica};
  return read_plan(s, "test.json").replicas[0];
}

// Two prompts of 160 tokens and as many as 64 more each, on 22 blocks: both have 176 tokens in 11 when the
// second one has to go.
Outcome crowded(const Json& kv_cache) {
  Json s = test::small_scenario();
  s["serving"]["replicas"] = {{{"engine", {{"kind", "ideal"}}}, {"kv_cache", kv_cache}}};
  s["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 2}, {"input_tokens", 160}, {"output_tokens", 64}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  return test::run(s);
}

Json swapping(double blocks) {
  return {{"blocks", 22},
          {"preemption", "swap"},
          {"prefix_caching", false},
          {"swap_space_gib", blocks * llama_block / (1 << 30)}};
}

}  // namespace

TEST_CASE("KV room: free_memory_fraction is a share of what the weights leave") {
  for (const double fraction : {0.5, 0.85, 0.9}) {
    const ReplicaPlan plan = planned_with({{"kv_cache", {{"free_memory_fraction", fraction}}}});
    const double memory = plan.rank.on->spec().own().capacity.value();
    // 8,030,261,248 parameters (the catalog's published number) of 2 bytes.
    const double left = fraction * (memory - 2 * 8030261248.);
    CHECK(static_cast<double>(plan.kv_blocks) == std::floor(left / llama_block));
  }
}

TEST_CASE("KV room: vLLM's fraction of memory holds activations as well, SGLang's weights and cache alone") {
  const auto blocks = [](const char* engine) {
    const ReplicaPlan plan =
        planned_with({{"engine", {{"kind", engine}}}, {"kv_cache", {{"memory_fraction", 0.8}}}});
    const double memory = 0.8 * plan.rank.on->spec().own().capacity.value() - 2 * 8030261248.;
    return std::pair(static_cast<double>(plan.kv_blocks), std::floor(memory / llama_block));
  };
  const auto [sglang, by_hand] = blocks("sglang");
  CHECK(sglang == by_hand);
  const auto [vllm, without_reserve] = blocks("vllm");
  CHECK(vllm < without_reserve - 100);  // of 2 MiB
}

// A layer has 4,096 x (4,096 + 2 x 1,024 + 4,096 + 3 x 14,336) weights and two norms; the embedding is in the
// first stage, the LM head and the last norm in the last one, 128,256 x 4,096 each.
TEST_CASE("KV room: stages have blocks of their layers, and the one with the least room says how many") {
  const double layer = 4096. * (4096 + 2 * 1024 + 4096 + 3 * 14336) + 2 * 4096, table = 128256. * 4096;
  for (const std::vector<int>& layers :
       {std::vector{16, 16}, {11, 11, 10}, {8, 8, 8, 8}, {6, 6, 7, 7, 6}, {5, 5, 5, 6, 6, 5}}) {
    const std::size_t stages = layers.size();
    const ReplicaPlan plan =
        planned_with({{"parallelism", {{"pipeline", stages}}}, {"kv_cache", {{"free_memory_fraction", 0.9}}}},
                     "llama3.1-8b", static_cast<int>(stages));
    const double memory = plan.rank.on->spec().own().capacity.value();
    double least = 1e18;
    for (std::size_t i = 0; i < stages; ++i) {
      const double others = i == 0 ? table : i + 1 == stages ? table + 4096 : 0;
      const double left = 0.9 * (memory - 2 * (layers[i] * layer + others));
      least = std::min(least, std::floor(left / (llama_block * layers[i] / 32)));
    }
    CAPTURE(stages);
    CHECK(static_cast<double>(plan.kv_blocks) == least);
  }
}

// NVLink's buffers are NCCL's (interconnects' buffers_gib), of whatever ranks send to each other.
TEST_CASE("KV room: link buffers are set aside of several devices, by tensor and by pipeline alike") {
  const auto reserve = [](int tensor, int pipeline) {
    return planned_with({{"parallelism", {{"tensor", tensor}, {"pipeline", pipeline}}},
                         {"batching", {{"kind", "chunked_prefill"}, {"max_batch_tokens", 64}}}},
                        "llama3.1-8b", tensor * pipeline);
  };
  const double buffers = find_interconnect("nvlink4_switch").buffers.value();
  REQUIRE(buffers > 1e9);
  CHECK((reserve(1, 2).memory.activations - reserve(1, 1).memory.activations).value() == Approx(buffers));
  CHECK((reserve(2, 2).memory.activations - reserve(2, 1).memory.activations).value() == Approx(0).margin(1));
}

TEST_CASE(
    "swap space: a request goes where all of its blocks fit, exactly, and is computed anew with one less",
    "[engine]") {
  const Outcome roomy = crowded({{"blocks", 100}}), fits = crowded(swapping(11)),
                not_all = crowded(swapping(10));
  for (const Outcome& o : {roomy, fits, not_all}) REQUIRE(o.error == "");
  CHECK(roomy.preemptions == 0);
  CHECK(fits.preemptions == 1);
  CHECK(not_all.preemptions == 1);
  CHECK(fits.flops == Approx(roomy.flops).epsilon(1e-9));
  // 2 x (160 + 63) positions, and 176 of them twice; attention and the LM head make up the rest.
  CHECK(not_all.flops / roomy.flops == Approx(1 + 176. / 446).epsilon(0.02));
}

TEST_CASE("swap space: its blocks are those of a rank's layers") {
  for (const auto& [tensor, pipeline] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}}) {
    const ReplicaPlan plan = planned_with({{"parallelism", {{"tensor", tensor}, {"pipeline", pipeline}}},
                                           {"kv_cache", {{"swap_space_gib", 1}}}},
                                          "llama3.1-8b", tensor * pipeline);
    CHECK(plan.swap_blocks == 512 * tensor * pipeline);  // 2^30 / (16 x 131,072)
  }
}

TEST_CASE("KV tiers: data-parallel ranks have a part each of a host's or a disk's, and all of a shared one") {
  // qwen3-30b-a3b: 2 x 48 layers x 4 KV heads x 128 x 2 bytes, in chunks of 256 tokens.
  constexpr double chunk = 256 * 98304.;
  const auto chunks = [&](const char* kind, double in_all, const Json& parallelism) {
    const Json tier = {
        {"kind", kind}, {"capacity_gb", in_all * chunk / 1e9}, {"read_gb_per_s", 10}, {"write_gb_per_s", 10}};
    const Json cache = {{"tiers", Json::array({tier})}};
    return planned_with({{"parallelism", parallelism}, {"kv_cache", cache}}, "qwen3-30b-a3b", 8)
        .tier_chunks[0];
  };
  const Json ranks = {{"attention_data", 8}, {"expert", 8}}, cut = {{"tensor", 4}};
  CHECK(chunks("host", 80.4, ranks) == 10);
  CHECK(chunks("disk", 80.4, ranks) == 10);
  CHECK(chunks("shared", 80.4, ranks) == 80);
  CHECK(chunks("host", 80.4, cut) == 80);
  CHECK(chunks("shared", 80.4, cut) == 80);
}
