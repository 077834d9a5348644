#include "sim/studies/neupims/runs.h"

#include <fmt/format.h>

namespace weir::neupims {
namespace {

// The paper names no interconnect and its simulator has no all-reduce: the paper set has one that costs
// nothing. Physical: NVLink 3, the one of the A100 that the paper compares with.
Json interconnect(const std::string& assumptions, Links links) {
  if (links == Links::of_the_set) links = assumptions == "physical" ? Links::nvlink : Links::free;
  if (links == Links::nvlink) return "nvlink3_switch";
  return {{"shape", "switch"}, {"bandwidth_gb_per_s", 1e6}, {"latency_us", 0}};
}

}  // namespace

const std::vector<Model> models = {{"gpt3-7b", "GPT3-7B", 4, 1},
                                   {"gpt3-13b", "GPT3-13B", 4, 1},
                                   {"gpt3-30b", "GPT3-30B", 4, 2},
                                   {"gpt3-175b", "GPT3-175B", 8, 4}};

StudyPoint over_nvlink(const StudyPoint& point) {
  StudyPoint linked = point;
  if (!point.variant.name.empty()) return linked;
  linked.variant = {.name = "NVLink", .links = Links::nvlink};
  linked.paper_only = true;
  return linked;
}

Json scenario_of(const StudyPoint& p, const std::string& assumptions) {
  const int requests = p.batch * p.pipeline;
  // The authors' simulator knows no capacity, and many of their batches would not fit 32 GB.
  Json device = {{"kind", p.machine.device}, {"count", p.tensor * p.pipeline}, {"memory_capacity_gib", 1024}};
  device.update(p.variant.device);
  Json partitioning = {{"kind", p.machine.partitioning}};
  partitioning.update(p.variant.partitioning);
  return {{"model", p.model},
          {"assumptions", assumptions},
          {"precision", {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}}},
          {"cluster",
           {{"nodes", Json::array({{{"devices", Json::array({device})},
                                    {"interconnect", interconnect(assumptions, p.variant.links)}}})}}},
          {"serving",
           {{"replicas", Json::array({{{"parallelism", {{"tensor", p.tensor}, {"pipeline", p.pipeline}}},
                                       {"batching",
                                        {{"kind", "sub_batch_interleaving"},
                                         {"interleave", p.machine.interleave},
                                         {"max_batch_requests", requests},
                                         {"max_batch_tokens", 8192}}},
                                       {"placement", {{"kind", p.machine.placement}}},
                                       {"partitioning", partitioning},
                                       {"engine", {{"kind", "ideal"}}}}})}}},
          // GPT3's context of 2,048 tokens ends a request. Eight tokens each, so that filling and draining
          // the pipeline is a small part.
          {"workload",
           {{"requests", {{"kind", "named"}, {"name", p.dataset}, {"count", 10000}}},
            {"arrivals",
             {{"kind", "warm_batch"},
              {"concurrency", requests},
              {"batches", 10},
              {"steps", steps_of_a_batch},
              {"max_tokens", 2048}}}}}};
}

std::string name_of(const StudyPoint& p) {
  return fmt::format("{} {} {} TP{} PP{} {} {} {}{}", p.machine.device, p.machine.placement,
                     p.machine.interleave, p.tensor, p.pipeline, p.model, p.dataset, p.batch,
                     p.variant.name.empty() ? "" : ", " + p.variant.name);
}

}  // namespace weir::neupims
