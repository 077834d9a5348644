#include "sim/studies/l3/runs.h"

#include <algorithm>

namespace weir::l3 {

const std::vector<ServedModel> models = {{"gpt3-175b", "gpt175b", "GPT-175B", 8, 1},
                                         {"gpt-89b", "gpt89b", "GPT-89B", 4, 2},
                                         {"opt-66b", "opt66b", "OPT-66B", 2, 4}};

const std::vector<TraceLengths> traces = {{"openr1", "OpenR1", {96.0, 75.1}, {12684.1, 8464.6}},
                                          {"dolphin", "Dolphin", {201.9, 563.0}, {3926.2, 4216.0}},
                                          {"openthoughts", "OpenThoughts", {89.4, 66.7}, {6366.7, 4662.9}},
                                          {"longbench", "LongBench", {7703.9, 4285.5}, {89.8, 213.7}}};

const ServedModel& model_of(const std::string& id) {
  return *std::ranges::find(models, id, [](const ServedModel& model) { return std::string(model.id); });
}

const TraceLengths& trace_of(const std::string& id) {
  return *std::ranges::find(traces, id, [](const TraceLengths& trace) { return std::string(trace.id); });
}

namespace {

constexpr int requests = 1000, longest = 32768;  // the longest that a lognormal law of Table 4 may draw

Json lengths(const Lengths& of) {
  return {{"mean", of.mean}, {"std", of.deviation}, {"max", longest}};
}

Json workload(const SystemRun& run) {
  if (run.batch > 0)
    return {
        {"requests",
         {{"kind", "fixed"}, {"input_tokens", batch_tokens - 1}, {"output_tokens", 2}, {"count", run.batch}}},
        {"arrivals",
         {{"kind", "warm_batch"}, {"concurrency", run.batch}, {"batches", 1}, {"steps", batch_steps}}}};
  const TraceLengths& trace = trace_of(run.trace);
  return {{"requests",
           {{"kind", "lognormal"},
            {"count", requests},
            {"input", lengths(trace.input)},
            {"output", lengths(trace.output)}}},
          {"arrivals", {{"kind", "all_at_once"}}}};
}

Json devices(const SystemRun& run) {
  Json gpus = {{"kind", run.system.gpu}, {"count", 8}};
  gpus.update(run.gpu);
  if (!run.system.memory) {
    gpus.update(run.memory);
    return Json::array({gpus});
  }
  Json memory = {{"kind", run.system.memory}};
  memory.update(run.memory);
  return Json::array({gpus, memory});
}

Json batching(const SystemRun& run) {
  Json policy = {{"kind", run.system.batching}, {"max_batch_tokens", 65536}};
  // L3 adds far fewer prompt tokens than 65,536 to a step, so its reserve for activations is smaller. Section
  // 5.3: step 2 divides the decodes of every iteration; a linear model and random forests say how long parts
  // take.
  if (policy["kind"] == "adaptive_chunk_interleaving")
    policy.update({{"max_batch_tokens", 8192}, {"interleave", "on"}, {"predictor", "learned"}});
  // The stronger GPUs: vLLM's default since v1. The paper does not say.
  if (policy["kind"] == "chunked_prefill") policy["max_batch_tokens"] = 2048;
  // At its better setting: two sub-batches only where a step of them is shorter. The paper does not say
  // which it had.
  if (policy["kind"] == "sub_batch_interleaving")
    policy.update({{"interleave", "best"}, {"prompts", "first"}});
  policy.update(run.batching);
  return policy;
}

Json partitioning(const SystemRun& run) {
  Json policy = {{"kind", run.system.partitioning}};
  if (run.system.spare_memory) policy["spare_memory"] = true;
  if (!run.overlapped) policy.update({{"concurrent_transfers", false}, {"asynchronous_store", false}});
  return policy;
}

}  // namespace

std::string name_of(const SystemRun& r) {
  return fmt::format("{} {} {}{} {}{}{}, {} {}, seed {}, {}", r.system.id, r.system.batching,
                     r.system.placement ? r.system.placement : "", r.overlapped ? "" : " in turn",
                     r.memory.dump(), r.batching.dump(), r.gpu.dump(), r.model,
                     r.batch > 0 ? fmt::format("batch {}", r.batch) : r.trace, r.seed, r.profile);
}

Json scenario_of(const SystemRun& run, const std::string& assumptions) {
  const ServedModel& model = model_of(run.model);
  Json replica = {{"count", model.data},
                  {"parallelism", {{"tensor", model.tensor}}},
                  {"kv_cache", {{"free_memory_fraction", 1.0}, {"admission", "sequence"}}},
                  {"engine", {{"kind", "ideal"}}},
                  {"batching", batching(run)},
                  {"partitioning", partitioning(run)}};
  if (run.system.placement) replica["placement"] = {{"kind", run.system.placement}};
  return {
      {"model", model.name},
      {"seed", run.seed},
      {"assumptions", assumptions == "paper" ? run.profile : assumptions},
      {"precision", {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}}},
      // The paper says NVLink and no more; 240 GB/s of a DGX A100's 300 is what a collective gets, as the
      // authors' setting was taken (ESTIMATE), without latency.
      {"cluster",
       {{"nodes", Json::array({{{"devices", devices(run)},
                                {"interconnect",
                                 {{"shape", "switch"}, {"bandwidth_gb_per_s", 240}, {"latency_us", 0}}}}})}}},
      {"serving", {{"replicas", Json::array({replica})}, {"routing", {{"kind", "round_robin"}}}}},
      {"workload", workload(run)}};
}

}  // namespace weir::l3
