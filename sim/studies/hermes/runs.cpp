#include "sim/studies/hermes/runs.h"

#include <algorithm>
#include <cmath>

#include "models/llm/architecture.h"

namespace weir::hermes {

const std::vector<SparseModel> models = {{"opt13b", "opt-13b", "OPT-13B", 0.10, true},
                                         {"opt30b", "opt-30b", "OPT-30B", 0.10, true},
                                         {"opt66b", "opt-66b", "OPT-66B", 0.10, true},
                                         {"llama2_13b", "llama2-13b", "LLaMA2-13B", 0.20, false},
                                         {"falcon40b", "falcon-40b", "Falcon-40B", 0.20, false},
                                         {"llama2_70b", "llama2-70b", "LLaMA2-70B", 0.20, false}};

const SparseModel& model_of(const std::string& id) {
  return *std::ranges::find(models, id, [](const SparseModel& model) { return std::string(model.id); });
}

namespace {

// Where nothing says which neurons are active, all layers are followed at the cost of one step.
Json hot_cold(const char* neurons, bool sparse) {
  Json policy = {{"neurons", {{"kind", neurons}}}};
  if (sparse) policy["followed_layers"] = followed_layers;
  return policy;
}

}  // namespace

const OffloadSystem hermes_system{"hermes", "Hermes", "ndp_dimm", "hot_cold", hot_cold("ilp", true),
                                  true,     true},
    base_system{"base", "Hermes-base", "ndp_dimm", "hot_cold", hot_cold("whole_layers", false), false, true},
    host_system{"host", "Hermes-host", "host_neurons", "hot_cold", hot_cold("ilp", true), true, true},
    accelerate{"accelerate",
               "Accelerate",
               "host_dimm",
               "weights_in_host",
               {{"resident", "first_layers"}, {"fetch_ahead", false}},
               false,
               true},
    flexgen{"flexgen", "FlexGen", "host_dimm", "weights_in_host", Json::object(), false, true},
    deja_vu{
        "deja_vu", "Deja Vu", "host_dimm", "active_weights_in_host", {{"followed_layers", followed_layers}},
        true,      false};

namespace {

constexpr int most_requests = 16;

// As much memory as the DIMMs of Table II have, for the systems that compute nothing there.
Json host_of(const HermesRun& run) {
  Json host = {{"kind", run.system->host}};
  if (host["kind"] == "host_dimm") host.update({{"memory_channels", 4}, {"memory_capacity_gib", 256}});
  host.update(run.host);
  return host;
}

double memory_gib(const std::string& gpu) {
  return gpu == "t4" ? 16 : 24;
}

double memory_gb(const std::string& gpu) {
  return memory_gib(gpu) * (1 << 30) / 1e9;
}

double two_layers_gb(const SparseModel& model) {
  Reading reading(model.name);
  const Architecture a = find_architecture(model.name, reading, "/model");
  const std::int64_t embeddings = a.vocabulary * a.hidden * (a.tied_embeddings ? 1 : 2);
  constexpr int layers = 2, bytes = 2;
  return layers * bytes * static_cast<double>((a.parameters() - embeddings) / a.layer_count()) / 1e9;
}

Json partitioning(const HermesRun& run, const std::string& assumptions) {
  Json policy = {{"kind", run.system->partitioning}};
  policy.update(run.system->policy);
  // As much for all, but that policies that fetch layers have buffers of two beside these: with OPT-66B's 4
  // GB no more than 21 fits.
  if (run.system->has_room_key) {
    const double room = gpu_room_gb(run.gpu, assumptions);
    const bool fetches = policy["kind"] == "weights_in_host";
    policy["on_device_gb"] =
        fetches ? std::min(room, std::floor(memory_gb(run.gpu) - two_layers_gb(model_of(run.model)))) : room;
  }
  policy.update(run.policy);
  return policy;
}

Json workload(int batch, int tokens) {
  return {{"requests",
           {{"kind", "fixed"}, {"input_tokens", input_tokens}, {"output_tokens", tokens}, {"count", batch}}},
          {"arrivals", {{"kind", "all_at_once"}}}};
}

// Prompts of all requests are one step.
Json replica(const char* engine, Json partitioning) {
  return {{"engine", {{"kind", engine}}},
          {"batching",
           {{"kind", "prefill_first"},
            {"max_batch_requests", most_requests},
            {"max_batch_tokens", most_requests * input_tokens}}},
          {"partitioning", std::move(partitioning)}};
}

Json scenario(const char* model, const std::string& assumptions, Json node, Json replica, Json workload) {
  return {{"model", model},
          {"assumptions", assumptions},
          {"precision", {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}}},
          {"cluster", {{"nodes", Json::array({std::move(node)})}}},
          {"serving", {{"replicas", Json::array({std::move(replica)})}}},
          {"workload", std::move(workload)}};
}

Json of_hermes(const HermesRun& run, const std::string& assumptions) {
  const SparseModel& model = model_of(run.model);
  Json served = replica("ideal", partitioning(run, assumptions)),
       asked = workload(run.batch, run.output_tokens);
  served["kv_cache"] = {{"free_memory_fraction", 1.0}};
  if (run.system->sparse) {
    asked["activity"] = {{"kind", "generated"}, {"density", model.density}, {"drift", drift}};
    asked["activity"].update(run.activity);
  }
  return scenario(model.name, assumptions, {{"devices", Json::array({{{"kind", run.gpu}}, host_of(run)})}},
                  std::move(served), std::move(asked));
}

Json of_server(const ServerRun& run, const std::string& assumptions) {
  Json served = replica("trtllm", {{"kind", "device_only"}});
  served["parallelism"] = {{"tensor", run.tensor}, {"pipeline", run.pipeline}};
  return scenario(
      "llama2-70b", assumptions,
      {{"devices", Json::array({{{"kind", "a100_sxm_40gb"}, {"count", run.tensor * run.pipeline}}})},
       {"interconnect", "nvlink3_switch"}},
      std::move(served), workload(run.batch, output_tokens));
}

}  // namespace

// 20 of 24 GB hold 80 % of OPT-13B and 15 % of OPT-66B, as Section V-B has it; 22 leave less than half of
// that to all else. Another GPU keeps as much free.
double gpu_room_gb(const std::string& gpu, const std::string& assumptions) {
  return memory_gib(gpu) - (assumptions == "physical" ? 2 : 4);
}

std::string name_of(const AnyRun& run) {
  if (const auto& s = run.server)
    return fmt::format("TensorRT-LLM, TP{}, PP{}, batch {}", s->tensor, s->pipeline, s->batch);
  const HermesRun& r = run.hermes;
  return fmt::format("{} {}, {} {}, {}, batch {}, {} tokens, {}", r.system->title, r.policy.dump(), r.gpu,
                     r.host.dump(), r.model, r.batch, r.output_tokens, r.activity.dump());
}

Json scenario_of(const AnyRun& run, const std::string& assumptions) {
  return run.server ? of_server(*run.server, assumptions) : of_hermes(run.hermes, assumptions);
}

}  // namespace weir::hermes
