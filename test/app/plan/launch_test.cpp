// The commands that start a plan's replicas: goldens, one an engine, and what has no flag.
#include <catch2/catch.hpp>

#include "sim/app/plan/launch/launch.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

Json launched_scenario(const std::string& model, const std::string& device, int nodes, int devices,
                       const Json& replicas) {
  return {{"name", "a service"},
          {"model", model},
          {"cluster",
           {{"nodes",
             {{{"count", nodes},
               {"devices", {{{"kind", device}, {"count", devices}}}},
               {"interconnect", "nvlink4_switch"}}}}}},
          {"serving", {{"replicas", replicas}}},
          {"workload",
           {{"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 1}, {"output_tokens", 1}}},
            {"arrivals", {{"kind", "all_at_once"}}}}}};
}

Launch launched(const Json& scenario) {
  return launch_of(read_plan(scenario, "scenario.json"));
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("launch: vLLM, one replica on a node") {
  Json scenario = launched_scenario("llama3.1-70b", "h100_sxm", 1, 8,
                                    {{{"parallelism", {{"tensor", 4}, {"pipeline", 2}}},
                                      {"max_model_len", 8192},
                                      {"kv_cache", {{"preemption", "swap"}, {"prefix_caching", false}}}}});
  scenario["precision"] = {{"weights", "fp8"}, {"activations", "fp8"}, {"kv_cache", "fp8"}};
  const Launch launch = launched(scenario);
  CHECK(launch.nodes == 1);
  CHECK(launch.commands ==
        "# 1 replica on 8 h100_sxm\n"
        "# kv_cache.preemption swap: no flag of vLLM 0.12.0 says it\n"
        "vllm serve meta-llama/Llama-3.1-70B --host 0.0.0.0 --port 8100 --tensor-parallel-size 4 \\\n"
        "    --pipeline-parallel-size 2 --quantization fp8 --kv-cache-dtype fp8 --max-num-seqs 1024 \\\n"
        "    --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16 \\\n"
        "    --no-enable-prefix-caching --max-model-len 8192\n");
  CHECK(has_text(launch.script, "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 vllm serve \"$MODEL\""));
  CHECK(has_text(launch.manifest, "image: vllm/vllm-openai:v0.19.0"));
  CHECK(has_text(launch.manifest, "device_ids: [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\"]"));
  CHECK_FALSE(has_text(launch.manifest, "front:"));
}

TEST_CASE("launch: SGLang, prompts and generation apart over nodes, experts on all ranks") {
  const Json batching = {
      {"kind", "chunked_prefill"}, {"max_batch_requests", 128}, {"max_batch_tokens", 4096}};
  Json scenario =
      launched_scenario("deepseek-r1", "h200_sxm", 3, 8,
                        {{{"role", "prefill"},
                          {"parallelism", {{"tensor", 8}, {"expert", 8}}},
                          {"batching", batching},
                          {"engine", {{"kind", "sglang"}}}},
                         {{"role", "decode"},
                          {"parallelism", {{"tensor", 1}, {"attention_data", 16}, {"expert", 16}}},
                          {"communication", "deepep"},
                          {"batching", batching},
                          {"engine", {{"kind", "sglang"}}}}});
  scenario["precision"] = {{"weights", "fp8_block"}, {"activations", "fp8_block"}};
  const Launch launch = launched(scenario);
  CHECK(launch.nodes == 3);
  CHECK(launch.commands ==
        "# 1 prefill replica on 8 h200_sxm\n"
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --host 0.0.0.0 --port 8100 \\\n"
        "    --tp-size 8 --ep-size 8 --max-running-requests 128 --chunked-prefill-size 4096 \\\n"
        "    --mem-fraction-static 0.9 --page-size 16 --disaggregation-mode prefill \\\n"
        "    --disaggregation-bootstrap-port 5600\n"
        "# 1 decode replica on 16 h200_sxm\n"
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --host 0.0.0.0 --port 8101 \\\n"
        "    --tp-size 16 --dp-size 16 --enable-dp-attention --ep-size 16 --moe-a2a-backend deepep \\\n"
        "    --deepep-mode low_latency --max-running-requests 2048 --chunked-prefill-size 65536 \\\n"
        "    --mem-fraction-static 0.9 --page-size 16 --disaggregation-mode decode --nnodes 2 \\\n"
        "    --node-rank $NODE --dist-init-addr $HEAD:5000\n"
        "# in front of them\n"
        "python -m sglang_router.launch_router --pd-disaggregation --prefill http://NODE0:8100 5600 \\\n"
        "    --decode http://NODE1:8101 --host 0.0.0.0 --port 8000\n");
  CHECK(has_text(launch.script, "--node-rank 1 \\\n    --dist-init-addr \"$NODE1\":5000"));
  CHECK(has_text(launch.script,
                 "--pd-disaggregation --prefill http://$NODE0:8100 5600 --decode http://$NODE1:8101"));
  CHECK(has_text(launch.manifest, "kind: LeaderWorkerSet"));
  CHECK(has_text(launch.manifest, "size: 2"));
  CHECK(has_text(launch.manifest, "kind: Deployment"));
}

TEST_CASE(
    "launch: asynchronous scheduling is said where the version does otherwise by itself, and its image "
    "taken") {
  const auto launched_with = [](const Json& engine) {
    return launched(launched_scenario("llama3.1-8b", "h100_sxm", 1, 1, {{{"engine", engine}}}));
  };
  const auto words = [&](const char* kind, const char* version, bool ahead) -> std::string {
    const Launch launch = launched_with({{"kind", kind}, {"version", version}, {"async_scheduling", ahead}});
    for (const char* word : {"--no-async-scheduling", "--async-scheduling", "--disable-overlap-schedule"})
      if (has_text(launch.commands, word)) return word;
    return "";
  };
  CHECK(words("vllm", "0.10.2", false).empty());
  CHECK(words("vllm", "0.10.2", true) == "--async-scheduling");
  CHECK(words("vllm", "0.15", true).empty());
  CHECK(words("vllm", "0.15", false) == "--no-async-scheduling");
  CHECK(words("sglang", "0.5", true).empty());
  CHECK(words("sglang", "0.5", false) == "--disable-overlap-schedule");
  const auto image = [&](const char* kind, const char* version) {
    return launched_with({{"kind", kind}, {"version", version}}).manifest;
  };
  CHECK(has_text(image("vllm", "0.10.2"), "image: vllm/vllm-openai:v0.10.2"));
  CHECK(has_text(image("vllm", "0.15"), "image: vllm/vllm-openai:v0.15.0"));
  CHECK(has_text(image("sglang", "0.5"), "image: lmsysorg/sglang:v0.5.6"));
}

TEST_CASE("launch: TensorRT-LLM, whose cache and attention are in its configuration file") {
  Json scenario = launched_scenario("deepseek-r1", "h200_sxm", 1, 8,
                                    {{{"parallelism", {{"tensor", 1}, {"attention_data", 8}, {"expert", 8}}},
                                      {"kv_cache", {{"free_memory_fraction", 0.8}, {"block_tokens", 32}}},
                                      {"engine", {{"kind", "trtllm"}}}}});
  scenario["precision"] = {{"weights", "fp8_block"}, {"activations", "fp8_block"}, {"kv_cache", "fp8"}};
  const Launch launch = launched(scenario);
  CHECK(launch.commands ==
        "# 1 replica on 8 h200_sxm\n"
        "# communication all_gather: no flag of TensorRT-LLM 1.2.0 says it\n"
        "sh -c 'echo \"$0\" > /tmp/replica-0.yaml; exec \"$@\"' "
        "'{\"enable_attention_dp\":true,\"kv_cache_config\":{\"dtype\":\"fp8\","
        "\"free_gpu_memory_fraction\":0.8,\"tokens_per_block\":32}}' trtllm-serve "
        "deepseek-ai/DeepSeek-R1 \\\n"
        "    --host 0.0.0.0 --port 8100 --tp_size 8 --ep_size 8 --enable_chunked_prefill --max_batch_size "
        "256 \\\n"
        "    --max_num_tokens 8192 --config /tmp/replica-0.yaml\n");
}

TEST_CASE("launch: vLLM's data-parallel ranks over nodes, each node with its own, apart from prompts") {
  const Json engine = {{"kind", "vllm_v1"}};
  Json scenario =
      launched_scenario("deepseek-r1", "h200_sxm", 3, 8,
                        {{{"role", "prefill"}, {"parallelism", {{"tensor", 8}}}, {"engine", engine}},
                         {{"role", "decode"},
                          {"parallelism", {{"tensor", 2}, {"attention_data", 8}, {"expert", 16}}},
                          {"engine", engine}}});
  scenario["precision"] = {{"weights", "fp8_block"}, {"activations", "fp8_block"}};
  const Launch launch = launched(scenario);
  REQUIRE(launch.nodes == 3);
  CHECK(has_text(launch.commands, "--data-parallel-size-local 4 --data-parallel-address $HEAD"));
  // The first of its nodes answers; the second has ranks 4 to 7. No Ray joins them.
  CHECK(
      has_text(launch.script, "--data-parallel-address \"$NODE1\" \\\n    --data-parallel-rpc-port 13345 &"));
  CHECK(has_text(launch.script, "--headless \\\n    --data-parallel-start-rank 4 &"));
  CHECK_FALSE(has_text(launch.script, "ray"));
  CHECK(has_text(launch.script, "VLLM_NIXL_SIDE_CHANNEL_HOST=\"$NODE2\""));
  CHECK(has_text(launch.manifest, "--data-parallel-start-rank $$(($LWS_WORKER_INDEX * 4))"));
  CHECK(has_text(launch.manifest,
                 "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}"));
  const ScratchDirectory scratch;
  CHECK(std::system(("sh -n " + write(scratch / "command.sh", launch.script)).c_str()) == 0);
}

TEST_CASE("launch: data-parallel ranks on one node have side ports that do not meet") {
  const auto apart = [](const char* role) -> Json {
    return {{"role", role},
            {"parallelism", {{"tensor", 1}, {"attention_data", 4}, {"expert", 4}}},
            {"engine", {{"kind", "vllm_v1"}}}};
  };
  const Launch launch =
      launched(launched_scenario("qwen3-30b-a3b", "h100_sxm", 1, 8, {apart("prefill"), apart("decode")}));
  CHECK(has_text(launch.script, "VLLM_NIXL_SIDE_CHANNEL_PORT=5600 "));  // and 5601 to 5603
  CHECK(has_text(launch.script, "VLLM_NIXL_SIDE_CHANNEL_PORT=5604 "));
}

TEST_CASE("launch: TensorRT-LLM's prompts are computed without its overlap scheduler") {
  const auto apart = [](const char* role) -> Json {
    return {{"role", role}, {"parallelism", {{"tensor", 4}}}, {"engine", {{"kind", "trtllm"}}}};
  };
  const Launch launch =
      launched(launched_scenario("llama3.1-70b", "h100_sxm", 1, 8, {apart("prefill"), apart("decode")}));
  const std::size_t prefill = launch.script.find("prefill-0"), decode = launch.script.find("# decode-0");
  const std::size_t off = launch.script.find("\"disable_overlap_scheduler\":true");
  CHECK(prefill < off);
  CHECK(off < decode);
  CHECK(launch.script.find("disable_overlap_scheduler", decode) == std::string::npos);
}

TEST_CASE("launch: several replicas on a node have devices, ports and a balancer of their own") {
  const Launch launch = launched(
      launched_scenario("llama3.1-8b", "h100_sxm", 1, 8, {{{"count", 3}, {"parallelism", {{"tensor", 2}}}}}));
  for (const char* part : {"CUDA_VISIBLE_DEVICES=0,1 ", "CUDA_VISIBLE_DEVICES=2,3 ",
                           "CUDA_VISIBLE_DEVICES=4,5 ", "--port 8100", "--port 8101", "--port 8102"})
    CHECK(has_text(launch.script, part));
  CHECK(has_text(launch.manifest, "server localhost:8102;"));
  CHECK(has_text(launch.manifest, "least_conn"));
  const ScratchDirectory scratch;
  const std::string script = write(scratch / "command.sh", launch.script);
  CHECK(std::system(("sh -n " + script).c_str()) == 0);
}

TEST_CASE("launch: pods of a group share its GPUs evenly, where its nodes do not") {
  const Launch launch = launched(launched_scenario("gpt-oss-120b", "h100_sxm", 2, 4,
                                                   {{{"parallelism", {{"tensor", 2}, {"pipeline", 3}}}}}));
  CHECK(has_text(launch.script, "CUDA_VISIBLE_DEVICES=0,1,2,3 "));
  CHECK(has_text(launch.script, "CUDA_VISIBLE_DEVICES=0,1 "));
  CHECK(has_text(launch.manifest, "size: 2"));
  CHECK(has_text(launch.manifest, "nvidia.com/gpu: 3"));
  CHECK_FALSE(has_text(launch.manifest, "nvidia.com/gpu: 4"));
}

TEST_CASE("launch: an engine that nobody can start is said to be none") {
  const Launch launch =
      launched(launched_scenario("llama3.1-8b", "h100_sxm", 1, 1, {{{"engine", {{"kind", "ideal"}}}}}));
  CHECK(launch.commands == "# engine.kind ideal is none that can be started\n");
  CHECK(has_text(launch.script, "exit 1"));
}

TEST_CASE("launch: every row of the table says something of a setting that there is") {
  std::set<std::string> known = {"tensor",
                                 "ranks",
                                 "pipeline",
                                 "attention_data",
                                 "expert",
                                 "expert_on_every_rank",
                                 "communication",
                                 "redundant",
                                 "weights",
                                 "expert_weights",
                                 "kv_cache_type",
                                 "batching",
                                 "max_batch_requests",
                                 "max_batch_tokens",
                                 "memory_fraction",
                                 "free_memory_fraction",
                                 "block_tokens",
                                 "blocks",
                                 "max_model_len",
                                 "no_prefix_caching",
                                 "prefix_caching",
                                 "host_tier_gb",
                                 "tier",
                                 "async_scheduling",
                                 "no_async_scheduling",
                                 "two_batch_overlap",
                                 "speculative_mtp",
                                 "speculative_eagle",
                                 "speculative_ngram",
                                 "speculative_draft",
                                 "admission",
                                 "preemption",
                                 "role"};
  CHECK(launch_engines().size() == 3);
  for (const LaunchEngine& engine : launch_engines()) {
    INFO(engine.name);
    CHECK_FALSE(engine.source.empty());
    CHECK(engine.image.find("{version}") != std::string::npos);
    std::set<std::string> seen;
    for (const FlagRow& row : engine.flags) {
      INFO(row.setting);
      CHECK(known.contains(row.setting));
      CHECK(seen.insert(row.setting).second);
      CHECK((row.any || !row.values.empty()));
    }
  }
}
