#include "sim/studies/validation/sessions/server.h"

#include <algorithm>
#include <map>
#include <vector>

#include "devices/device.h"
#include "models/llm/architecture.h"

namespace weir {
namespace {

// The table writes kimik2.5 and b200; InferenceX, whose scripts it comes from, has a few names of its own.
std::string model_of(const RecordedRun& run) {
  static const std::map<std::string, std::string> others = {
      {"dsr1", "deepseek-r1"}, {"gptoss", "gpt-oss-120b"}, {"qwen3.5", "qwen3.5-397b-a17b"}};
  if (const auto known = others.find(run.model); known != others.end()) return known->second;
  for (const std::string& name : architecture_names()) {
    std::string joined = name;
    std::erase(joined, '-');
    if (run.model == name || run.model == joined) return name;
  }
  return "";
}

std::string device_of(const RecordedRun& run) {
  const std::vector<std::string> known = device_names();
  for (const std::string& name : {run.hardware, run.hardware + "_sxm"})
    if (std::ranges::find(known, name) != known.end()) return name;
  return "";
}

// By the links of its generation; runs are on one node.
std::string interconnect_of(const std::string& device) {
  if (device.starts_with("mi")) return "infinity_fabric_mesh";
  return device.starts_with("b") || device.starts_with("gb") ? "nvlink5_switch" : "nvlink4_switch";
}

bool has_experts(const std::string& model) {
  Reading reading("recorded runs");
  return find_architecture(model, reading, "/model").most_experts() > 0;
}

// NVFP4, INT4 and MXFP4 checkpoints of mixtures have experts alone in 4 bits, the last two with inputs in 16;
// those in 8 bits are scaled by blocks. All kept their KV cache in 8 bits: by the tokens that fitted.
Json precision_of(const RecordedRun& run) {
  const bool nvidia = run.precision == "fp4",
             four = nvidia || run.precision == "int4" || run.precision == "mxfp4";
  const std::string number = run.precision == "fp8" ? "fp8_block" : run.precision;
  if (!four) return {{"weights", number}, {"activations", number}, {"kv_cache", "fp8"}};
  if (!has_experts(model_of(run)))
    return {{"weights", number}, {"activations", nvidia ? "fp8" : "bf16"}, {"kv_cache", "fp8"}};
  return {{"weights", "bf16"},
          {"activations", "bf16"},
          {"kv_cache", "fp8"},
          {"expert_weights", number},
          {"expert_activations", nvidia ? "fp4" : "bf16"}};
}

constexpr std::int64_t block_tokens = 64;
// The front end does HTTP, a chat template over all that was said, and splitting it. ESTIMATE: the middle of
// the 30 to 60 ms that these runs leave for it.
constexpr double front_end_ms = 45, front_end_us_per_token = 5;

// LMCache's, as it showed in these runs: it stalls the step and is far from what the bus can move (8 and 18
// GB/s a rank where PCIe has 50), a fifth of its size is never of use, and what was computed behind a load
// was mostly not stored. FITTED to the runs of 2026 by whoever described them, all at once; none to a row.
Json tier_of(const RecordedRun& run, const std::string& device) {
  const double gb_per_s = device.starts_with("mi") ? 18 : 8;
  return {{"kind", "host"},
          {"capacity_gb", 0.8 * *run.tier_gb},
          {"read_gb_per_s", gb_per_s},
          {"write_gb_per_s", gb_per_s},
          {"chunk_tokens", 256},
          {"stores", "prompt"},
          {"loads", "stall"},
          {"stored_after_load", 0.2}};
}

}  // namespace

std::string missing_for(const RecordedRun& run) {
  if (run.engine != "vllm") return run.engine;  // the recipe is vLLM's
  if (run.offload != "none" && run.offload != "lmcache") return run.offload;
  if (model_of(run).empty()) return run.model;
  return device_of(run).empty() ? run.hardware : "";
}

Json replay_scenario(const RecordedRun& run, const std::filesystem::path& sessions) {
  const std::string device = device_of(run);
  Json cache = {
      {"block_tokens", block_tokens}, {"blocks", run.kv_tokens / block_tokens}, {"admission", "prompt"}};
  if (run.tier_gb) cache["tiers"] = Json::array({tier_of(run, device)});
  const Json replica = {
      {"parallelism", {{"tensor", run.tensor}, {"expert", run.expert}}},
      {"batching",
       {{"kind", "chunked_prefill"}, {"max_batch_requests", run.lanes}, {"max_batch_tokens", 8192}}},
      {"kv_cache", cache},
      {"engine",
       {{"kind", "vllm"},
        {"async_scheduling", false},  // as when tier_of was fitted; the runs do not tell their version
        {"front_end_ms", front_end_ms},
        {"front_end_us_per_token", front_end_us_per_token}}}};
  const Json devices = Json::array({{{"kind", device}, {"count", 8}}});
  return {
      {"name", "recorded run " + run.id},
      {"model", model_of(run)},
      {"precision", precision_of(run)},
      {"cluster",
       {{"nodes",
         Json::array({{{"count", 1}, {"devices", devices}, {"interconnect", interconnect_of(device)}}})}}},
      {"serving", {{"replicas", Json::array({replica})}}},
      {"workload",
       {{"requests", {{"kind", "sessions"}, {"file", sessions.string()}}},
        {"arrivals", {{"kind", "trace"}}}}}};
}

}  // namespace weir
