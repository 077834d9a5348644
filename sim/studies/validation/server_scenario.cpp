// A measured server in a closed loop as a scenario.
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

Json server_workload(const MeasuredServer& s) {
  const auto lengths = [&](std::int64_t longest) -> Json {
    return {{"min", static_cast<std::int64_t>(s.load.shortest * static_cast<double>(longest))},
            {"max", longest}};
  };
  const std::int64_t warmup = s.load.warmup_rounds * s.concurrency;
  return {{"requests",
           {{"kind", "uniform"},
            {"count", warmup + s.load.requests(s.concurrency)},
            {"input", lengths(s.input_tokens)},
            {"output", lengths(s.output_tokens)}}},
          {"arrivals",
           {{"kind", "closed_loop"},
            {"concurrency", s.concurrency},
            {"warmup_requests", warmup},
            {"restart_after_warmup", warmup > 0}}}};
}

// The KV cache of dense servers is not recorded. In the rows of 8-bit weights of the highest concurrency all
// requests were in flight together, by their TTFT, which takes 8 bits: 32 of 9,216 tokens of llama3.1-70b
// beside its weights on an H200, or 128 of 4,608 of qwen3-32b on two H100.
Json precision_of(const MeasuredServer& s) {
  if (!s.precision.is_null()) return s.precision;
  const std::string number = s.number();
  return {{"weights", number}, {"activations", number}, {"kv_cache", number == "bf16" ? "bf16" : "fp8"}};
}

Json kv_cache_of(const MeasuredServer& s) {
  if (!s.kv_cache.is_null()) return s.kv_cache;
  // TensorRT-LLM's default kv_cache_free_gpu_memory_fraction.
  return s.engine == "trtllm" ? Json{{"free_memory_fraction", 0.9}} : Json::object();
}

// TensorRT-LLM's all-to-all over NVLink is for GPUs of one domain of many nodes (MNNVL); elsewhere its
// attention-data ranks gather, as those of vLLM and SGLang do unless they are told otherwise.
std::string communication_of(const MeasuredServer& s, const MeasuredPool& pool) {
  const bool whole_experts = pool.expert == pool.tensor * pool.attention_data && pool.attention_data > 1;
  return s.engine == "trtllm" && s.device.starts_with("gb") && whole_experts ? "nvlink_all_to_all"
                                                                             : "all_gather";
}

Json replica_of(const MeasuredServer& s, const MeasuredPool& pool) {
  Json engine = s.engine_keys;
  engine["kind"] = s.engine;
  Json replica = {{"parallelism",
                   {{"tensor", pool.tensor},
                    {"pipeline", pool.pipeline},
                    {"expert", pool.expert},
                    {"attention_data", pool.attention_data}}},
                  {"communication", communication_of(s, pool)},
                  {"batching",
                   {{"kind", s.load.batching},
                    {"max_batch_requests", s.load.max_batch_requests},
                    {"max_batch_tokens", s.load.max_batch_tokens}}},
                  {"kv_cache", kv_cache_of(s)},
                  {"engine", engine}};
  if (!pool.role.empty()) replica.update({{"role", pool.role}, {"count", pool.workers}});
  return replica;
}

// A worker a node, or all of them in one domain of 72 GPUs.
Json nodes_of(const MeasuredServer& s) {
  int nodes = s.pools.empty() ? 1 : 0;
  for (const MeasuredPool& pool : s.pools)
    nodes += pool.workers * ((pool.tensor * pool.attention_data * pool.pipeline + 7) / 8);
  const bool rack = s.device == "gb200";
  const Json devices = Json::array({{{"kind", s.device}, {"count", rack ? 72 : 8}}});
  return Json::array({{{"count", rack ? 1 : nodes}, {"devices", devices}, {"interconnect", s.interconnect}}});
}

}  // namespace

Json server_scenario(const MeasuredServer& s) {
  Json replicas = Json::array();
  for (const MeasuredPool& pool : s.pools) replicas.push_back(replica_of(s, pool));
  if (replicas.empty())
    replicas.push_back(replica_of(s, {.role = "",
                                      .tensor = s.tensor,
                                      .expert = s.expert,
                                      .attention_data = s.attention_data,
                                      .pipeline = s.pipeline}));
  return {{"model", s.model},
          {"precision", precision_of(s)},
          {"cluster", {{"nodes", nodes_of(s)}}},
          {"serving", {{"replicas", replicas}}},
          {"workload", server_workload(s)}};
}

}  // namespace weir
