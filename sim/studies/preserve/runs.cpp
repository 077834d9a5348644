#include "sim/studies/preserve/runs.h"

#include <cmath>

namespace weir::preserve {
namespace {

bool parametric(const Run& run) {
  return run.device == "l2_npu";
}

Json cluster(const Run& run) {
  Json device = {{"kind", run.device}, {"count", run.devices}};
  Json links = "hccs_mesh";
  if (run.l2_mb) device["l2_mb"] = *run.l2_mb;
  if (parametric(run)) {  // Table 2; the ring is Section 5's
    links = {{"shape", "ring"},
             {"bandwidth_gb_per_s", run.gbit_per_s / 8},
             {"latency_us", 25},
             {"latency", "once"}};
  } else {
    device["strided_kv_efficiency"] = run.strided_kv;
    device["count"] = 8;  // an Atlas 800T A2: fewer ranks have the links among them alone
  }
  return {{"nodes", Json::array({{{"devices", Json::array({device})}, {"interconnect", links}}})}};
}

Json workload(const Run& run) {
  const std::int64_t prompt = std::llround(2. / 3 * static_cast<double>(run.length));
  if (run.measure == Measure::request)
    return {{"requests",
             {{"kind", "fixed"},
              {"input_tokens", prompt},
              {"output_tokens", run.length - prompt},
              {"count", run.batch}}},
            {"arrivals", {{"kind", "all_at_once"}}}};
  return {{"requests",
           {{"kind", "fixed"}, {"input_tokens", run.length - 1}, {"output_tokens", 2}, {"count", run.batch}}},
          {"arrivals", {{"kind", "warm_batch"}, {"concurrency", run.batch}, {"batches", 1}, {"steps", 1}}}};
}

Json prefetch(const Run& run) {
  if (run.prefetch == "window_aware") return {{"kind", "preserve"}, {"window_aware", true}};
  return {{"kind", run.prefetch}};
}

}  // namespace

const std::vector<std::string> explored_models = {
    "llama3-8b",  "llama3-70b",  "llama3.1-405b", "qwen2-7b",   "qwen2-72b",    "qwen1.5-110b",
    "phi3-small", "phi3-medium", "phi3.5-moe",    "mistral-7b", "mixtral-8x7b", "mixtral-8x22b"};
const std::vector<std::string> largest_models = {"llama3-70b", "qwen2-72b", "phi3-medium"};

Run on_910b(const std::string& model, int devices, int batch, std::int64_t length, const char* prefetch) {
  return {.model = model,
          .device = "ascend_910b",
          .devices = devices,
          .batch = batch,
          .length = length,
          .prefetch = prefetch};
}

Run strided(Run run) {
  run.strided_kv = 0.5;
  return run;
}

std::string name_of(const Run& r) {
  return fmt::format("{} {} on {} {}, {} x {}{}, L2 {} MB, {} Gbit/s, prefetch {}, {} chunks, strides {}",
                     r.model, r.type, r.devices, r.device, r.batch, r.length,
                     r.measure == Measure::last_step ? " (last step)" : "", r.l2_mb.value_or(0), r.gbit_per_s,
                     r.prefetch, r.fused_chunks, r.strided_kv);
}

Json scenario_of(const Run& run, const std::string& assumptions) {
  constexpr std::int64_t block = 16;
  Json precision = {{"weights", run.type}, {"activations", run.type}, {"kv_cache", run.type}};
  // Section 5 counts everything in int8; what the 910B's GEMMs write is not said, and left at 16 bits.
  if (parametric(run)) precision["hidden"] = run.type;
  const bool whole = run.measure == Measure::request;
  return {
      {"model", run.model},
      {"assumptions", assumptions},
      {"precision", precision},
      {"cluster", cluster(run)},
      {"serving",
       {{"replicas", Json::array({{{"parallelism", {{"tensor", run.devices}, {"pad_heads", true}}},
                                   {"batching",
                                    {{"kind", whole ? "static" : "orca"},
                                     {"max_batch_requests", run.batch},
                                     {"max_batch_tokens", run.batch * run.length}}},
                                   {"kv_cache", {{"blocks", run.batch * ((run.length + block) / block)}}},
                                   {"partitioning",
                                    {{"kind", "device_only"}, {"fused_all_reduce_chunks", run.fused_chunks}}},
                                   {"prefetch", prefetch(run)},
                                   {"engine", {{"kind", "ideal"}}}}})}}},
      {"workload", workload(run)}};
}

}  // namespace weir::preserve
