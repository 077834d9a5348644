// KV tokens that vLLM's startup logs print, and what a plan has. The rows marked `develop` were looked at
// while the reserve's terms were written down (bytes a logit, libraries, buffers); the others judge.
#include <catch2/catch.hpp>

#include "sim/plan/plan.h"

using namespace weir;

namespace {

struct Log {
  const char* what;  // device, model, version, where it was printed
  const char *device, *model, *interconnect;
  int tensor, expert;
  Json precision;
  double fraction;
  int tokens, requests;
  const char* sampler;
  double graphs_gib;  // that the log says were taken from the cache
  double printed;
  bool develop;
  double within = 0.03;
};

const Json fp8 = {{"weights", "fp8"}, {"activations", "fp8"}};
const Json fp8_block = {{"weights", "fp8_block"}, {"activations", "fp8_block"}};
const Json bf16 = Json::object();

const std::vector<Log> logs = {
    {"A100-40, Qwen3-8B, vLLM 0.9.2 without FlashInfer: a public repository's notes, 10 June 2026",
     "a100_sxm_40gb", "qwen3-8b", "nvlink3_switch", 1, 1, bf16, 0.9, 2048, 256, "sort", 0, 136080, true},
    {"RTX 4090, Qwen2.5-7B (as qwen2-7b), vLLM 0.24: a public repository's exercises, day 49", "rtx4090",
     "qwen2-7b", "pcie4_x16", 1, 1, bf16, 0.85, 2048, 256, "fused", 0.53, 83376, true},
    {"A100-40, Llama-3.1-8B: a public repository's compute notes, 3 May 2026", "a100_sxm_40gb", "llama3.1-8b",
     "nvlink3_switch", 1, 1, bf16, 0.9, 2048, 256, "fused", 0, 163168, true},
    {"H100 NVL, Llama-3.1-8B: the same notes", "h100_nvl", "llama3.1-8b", "pcie5_x16", 1, 1, bf16, 0.9, 8192,
     1024, "fused", 0, 545456, true},
    {"A100-40, Llama-3.1-8B, vLLM 0.10.1: a public repository's log, 27 August 2025", "a100_sxm_40gb",
     "llama3.1-8b", "nvlink3_switch", 1, 1, bf16, 0.9, 2048, 256, "sort", 0, 157648, false},
    {"A100-80, Llama-3.1-8B, vLLM 0.31: a public repository's notes, 6 October 2026", "a100_sxm_80gb",
     "llama3.1-8b", "nvlink3_switch", 1, 1, bf16, 0.92, 2048, 256, "fused", 0, 460496, false},
    {"2 x L40S, Qwen3-30B-A3B-FP8, vLLM 0.10.2, experts dealt out: a public repository's notes, 24 September "
     "2025",
     "l40s", "qwen3-30b-a3b", "pcie4_x16", 2, 2, fp8_block, 0.95, 2048, 256, "sort", 0, 566016, false},
    {"4 x H200, Llama-3.1-70B in fp8, vLLM 0.11", "h200_sxm", "llama3.1-70b", "nvlink4_switch", 4, 1, fp8,
     0.9, 8192, 1024, "fused", 0, 1391552, false, 0.01},
    {"8 x H200, DeepSeek-R1, vLLM 0.11", "h200_sxm", "deepseek-r1", "nvlink4_switch", 8, 1, fp8_block, 0.9,
     8192, 1024, "fused", 0, 635648, false, 0.01},
};

Json scenario_of(const Log& log) {
  return {
      {"model", log.model},
      {"precision", log.precision},
      {"cluster",
       {{"nodes",
         {{{"devices", {{{"kind", log.device}, {"count", log.tensor}}}},
           {"interconnect", log.interconnect}}}}}},
      {"serving",
       {{"replicas",
         {{{"parallelism", {{"tensor", log.tensor}, {"expert", log.expert}}},
           {"batching",
            {{"kind", "chunked_prefill"},
             {"max_batch_tokens", log.tokens},
             {"max_batch_requests", log.requests}}},
           {"kv_cache", {{"memory_fraction", log.fraction}}},
           {"engine",
            {{"kind", "vllm_v1"}, {"sampler", log.sampler}, {"cuda_graph_memory_gib", log.graphs_gib}}}}}}}},
      {"workload",
       {{"requests", {{"kind", "fixed"}, {"input_tokens", 16}, {"output_tokens", 2}, {"count", 1}}},
        {"arrivals", {{"kind", "all_at_once"}}}}}};
}

Plan plan_of(const Json& scenario) {
  return read_plan(scenario, "test");
}

}  // namespace

TEST_CASE("KV room: tokens are within 3 % of what vLLM's logs print") {
  for (const Log& log : logs) {
    const RankMemory memory = plan_of(scenario_of(log)).replicas[0].memory;
    const double off = static_cast<double>(memory.kv_tokens) / log.printed - 1;
    INFO(log.what << ": " << memory.kv_tokens << " for " << log.printed << ", " << 100 * off << " %; weights "
                  << memory.weights.value() / 1073741824. << " GiB, reserve "
                  << memory.activations.value() / 1073741824.);
    CHECK(std::abs(off) < log.within);
  }
}

TEST_CASE("KV room: tokens are drawn as the engine's version does by default") {
  const auto drawn = [](const Json& engine) {
    Json scenario = scenario_of(logs[4]);
    Json& replica = scenario["serving"]["replicas"][0];
    replica["engine"] = engine;
    return plan_of(scenario).replicas[0].memory.activations.value();
  };
  const auto given = [&](const char* sampler) { return drawn({{"sampler", sampler}}); };
  REQUIRE(given("sort") > given("fused"));
  for (const auto& [version, sampler] : {std::pair{"0.8.5", "fused"},
                                         {"0.11.0", "fused"},
                                         {"0.11.1", "sort"},
                                         {"0.12", "sort"},
                                         {"0.14.1", "sort"},
                                         {"0.15.2", "sort"},
                                         {"0.16", "fused"},
                                         {"0.19.1", "fused"}}) {
    INFO(version);
    CHECK(drawn({{"kind", "vllm"}, {"version", version}}) == given(sampler));
    CHECK(drawn({{"kind", "vllm"}, {"version", version}, {"sampler", "fused"}}) == given("fused"));
  }
  CHECK(drawn({{"kind", "sglang"}}) == given("fused"));
}

TEST_CASE("KV room: hidden states are 16-bit whatever matrices multiply") {
  Json scenario = scenario_of(logs[7]);
  const Bytes quantised = plan_of(scenario).replicas[0].memory.activations;
  scenario["precision"] = {{"weights", "fp8"}, {"activations", "bf16"}};
  CHECK(plan_of(scenario).replicas[0].memory.activations == quantised);
}

// By hand, llama3.1-8b (hidden 4,096, MLP 14,336, vocabulary 128,256) on one A100: libraries 0.07 GiB.
TEST_CASE("KV room: the reserve is the larger of the widest layer and the sampler") {
  const double libraries = 0.07 * 1073741824;
  const auto reserve = [](int tokens, int requests, const char* sampler) {
    Log log = logs[4];
    log.tokens = tokens, log.requests = requests, log.sampler = sampler;
    return plan_of(scenario_of(log)).replicas[0].memory.activations.value();
  };
  const double hidden = 2. * 4096;
  CHECK(reserve(8192, 16, "fused") == Approx(8192 * (2 * hidden + 3 * 2. * 14336) + libraries));
  CHECK(reserve(2048, 256, "fused") == Approx(2048 * hidden + 256 * 128256. * 18 + libraries));
  CHECK(reserve(2048, 256, "sort") == Approx(2048 * hidden + 256 * 128256. * 38 + libraries));
  CHECK(reserve(2048, 128, "sort") == Approx(2048 * hidden + 128 * 128256. * 38 + libraries));
  CHECK(reserve(2048, 127, "sort") == Approx(2048 * hidden + 127 * 128256. * 50 + libraries));
}

// qwen3-30b-a3b: hidden 2,048, 8 of 128 experts of width 768, no shared one. Over two ranks that deal them
// out.
TEST_CASE("KV room: experts' workspaces by the kernel that their weights take") {
  Log log = logs[6];
  log.requests = 16;
  log.tokens = 8192;
  const double beside = (0.07 + 0.1) * 1073741824 + 8192 * (2 + 1) * 2. * 2048;
  const double rows = 8192 * 8 + 64 * 127;  // 73,664, a multiple of 128 less 64
  CHECK(plan_of(scenario_of(log)).replicas[0].memory.activations.value() ==
        Approx(2. * 73728 * (2048 + 2048) + 8192. * 2048 + beside));
  CHECK(rows == 73664);
  log.precision = fp8;
  CHECK(plan_of(scenario_of(log)).replicas[0].memory.activations.value() ==
        Approx(2. * 8192 * 8 * (2048 + 768) + beside));
}

TEST_CASE("KV room: requests at once by default go by the memory that an engine sees") {
  const auto requests = [](const char* device, const Json& engine, const char* model = "llama3.1-8b") {
    Json scenario = scenario_of(logs[4]);
    scenario["model"] = model;
    scenario["cluster"]["nodes"][0]["devices"][0]["kind"] = device;
    Json& replica = scenario["serving"]["replicas"][0];
    replica["batching"] = {{"kind", "chunked_prefill"}};
    replica["engine"] = engine;
    return plan_of(scenario).replicas[0].spec.batching->max_batch_requests();
  };
  const Json vllm = {{"kind", "vllm_v1"}};
  CHECK(requests("h100_sxm", vllm) == 1024);
  CHECK(requests("h200_sxm", vllm) == 1024);
  CHECK(requests("h100_sxm", Json::object()) == 1024);
  CHECK(requests("a100_sxm_80gb", vllm) == 256);
  CHECK(requests("a100_sxm_40gb", vllm) == 256);
  CHECK(requests("rtx4090", vllm) == 256);
  for (const char* other : {"vllm_v0", "sglang", "trtllm", "ideal"})
    CHECK(requests("h100_sxm", {{"kind", other}}) == 256);
  CHECK(requests("h100_sxm", vllm, "gpt-oss-20b") == 256);
}

TEST_CASE("KV room: requests at once by default are no more than the tokens of a step") {
  Json scenario = scenario_of(logs[4]);
  scenario["cluster"]["nodes"][0]["devices"][0]["kind"] = "h100_sxm";
  Json& replica = scenario["serving"]["replicas"][0];
  for (const int tokens : {512, 1024, 2048}) {
    replica["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_tokens", tokens}};
    const Plan plan = plan_of(scenario);
    CHECK(plan.replicas[0].spec.batching->max_batch_requests() == std::min(tokens, 1024));
    CHECK(plan.scenario.resolved["serving"]["replicas"][0]["batching"]["max_batch_requests"] ==
          std::min(tokens, 1024));
  }
}

TEST_CASE("KV room: what an engine sees of a device, and a capacity that is given") {
  Json scenario = scenario_of(logs[4]);
  Json& device = scenario["cluster"]["nodes"][0]["devices"][0];
  const auto gib = [&] {
    return plan_of(scenario).replicas[0].rank.on->spec().own().capacity.value() / 1073741824.;
  };
  CHECK(gib() == Approx(39.39));
  device["memory_capacity_gib"] = 80;
  CHECK(gib() == Approx(80));
  device["usable_memory_gib"] = 79;
  CHECK(gib() == Approx(79));
  device["usable_memory_gib"] = 80;
  CHECK(gib() == Approx(80));
  device["usable_memory_gib"] = 80.01;
  CHECK_THROWS_AS(plan_of(scenario), ConfigError);
}

// 131,072 B a token; a rank's 39.39 GiB x 0.9 less 14.96 of weights and the reserve.
TEST_CASE("KV room: a rank's memory adds up") {
  const Plan plan = plan_of(scenario_of(logs[4]));
  const RankMemory& memory = plan.replicas[0].memory;
  CHECK(memory.kv_per_token == Bytes(131072));
  CHECK(memory.kv_tokens == plan.replicas[0].kv_blocks * 16);
  CHECK(memory.kv_cache() == 131072. * Bytes(static_cast<double>(memory.kv_tokens)));
  const double left =
      0.9 * 39.39 * 1073741824 - (memory.weights + memory.activations + memory.kv_cache()).value();
  CHECK(left >= 0);
  CHECK(left < 16 * 131072);
  CHECK(*memory.max_concurrency() == Approx(static_cast<double>(memory.kv_tokens) / 131072));
}

TEST_CASE("KV room: a model that does not fit is told the smallest layout that does") {
  Json scenario = scenario_of(logs[4]);
  // 131.4 GiB of weights: 32.9 on each of four leave 2.6 of 35.5. Beside 1.2 of libraries and buffers the
  // sampler of 256 requests takes 1.2, that of 512 2.4.
  scenario["model"] = "llama3.1-70b";
  const auto message = [&] {
    try {
      plan_of(scenario);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message().find("the smallest layout that fits is tensor 4, 4 of them") != std::string::npos);
  scenario["serving"]["replicas"][0]["batching"] = {
      {"kind", "chunked_prefill"}, {"max_batch_tokens", 2048}, {"max_batch_requests", 512}};
  CHECK(message().find("the smallest layout that fits is tensor 8, 8 of them") != std::string::npos);
  scenario["cluster"]["nodes"][0]["devices"][0]["memory_capacity_gib"] = 1;
  CHECK(message().find("no layout of up to 32 of them fits") != std::string::npos);
}
