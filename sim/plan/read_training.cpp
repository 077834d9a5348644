// Reads the training jobs of a scenario.
#include "models/nn/net_catalog.h"
#include "sim/plan/scenario_parts.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::int64_t most_steps = 1'000'000, most_jobs = 64;

std::optional<std::vector<std::string>> read_kinds(Params& job) {
  const Json schema = {
      {"type", Json::array({"array", "null"})}, {"items", {{"type", "string"}}}, {"minItems", 1}};
  const Json* given = job.value(
      {"devices",
       "Kinds of devices that it runs on, one of each in a node, a list of names; null: what the first node "
       "with devices to spare has."},
      schema, Json(nullptr));
  if (!given || given->is_null()) return {};
  std::vector<std::string> kinds;
  if (!given->is_array() || given->empty() ||
      !std::ranges::all_of(*given, [](const Json& kind) { return kind.is_string(); })) {
    job.fail("devices", "expected a list of names of devices");
    return kinds;
  }
  for (const Json& kind : *given) kinds.push_back(kind.get<std::string>());
  return kinds;
}

Net read_net_of(Params& job) {
  const Json* net = job.value(
      {"model", "A net of `weir list models`, the path of a file like those, or keys of one over a base."},
      {{"type", Json::array({"string", "object"})}});
  return net ? read_net(*net, job.reading(), job.pointer() + "/model") : Net{};
}

std::int64_t read_batch(Params& job, const Net& net) {
  return job.integer_or_null({"batch", "Samples of a step of a copy; null: the net's own."}, {1, 1 << 20})
      .value_or(net.batch);
}

BesideSpec read_beside(Params beside) {
  BesideSpec spec;
  spec.net = read_net_of(beside);
  spec.batch = read_batch(beside, spec.net);
  spec.steps = beside.integer({"steps", "Steps to train."}, {1, most_steps}, 100);
  spec.runtime = make_from(
      runtime_policies(),
      beside.object({"runtime", "Who runs the operators of a step; not one that profiles."}), policy_kind);
  if (spec.runtime && spec.runtime->profiles() && !beside.describing())
    beside.fail("runtime", "profiles a step, which a net beside another has none for");
  beside.close();
  return spec;
}

TrainingSpec read_job(Params job) {
  TrainingSpec spec;
  spec.net = read_net_of(job);
  spec.name = job.text({"name", "In results and messages; the net's where it is not given."}, spec.net.name);
  spec.batch = read_batch(job, spec.net);
  spec.steps = job.integer({"steps", "Steps to train, the profiled one among them."}, {1, most_steps}, 100);
  spec.devices = read_kinds(job);
  spec.data_parallel = static_cast<int>(job.integer(
      {"data_parallel",
       "Copies of the net, each with batches and devices of its own; gradients are all-reduced beside the "
       "backward pass, in buckets of 25 MiB."},
      {1, 4096}, 1));
  spec.clock_multiple = job.number(
      {"clock_multiple", "What computes in memory runs at so many times its clocks; the memory does not."},
      {0.01, 100}, 1);
  spec.host_waiting = Watts(
      job.number({"host_waiting_w",
                  "Power of a CPU, above idle, while its own operators wait for a memory that computes."},
                 {0, 1e4}, 0));
  spec.runtime = make_from(runtime_policies(), job.object({"runtime", "Who runs the operators of a step."}),
                           policy_kind);
  if (auto beside = job.object_if_given(
          {"beside", "A net that is trained on the same devices, behind the job's own on each of them."}))
    spec.beside = read_beside(std::move(*beside));
  job.close();
  return spec;
}

}  // namespace

std::vector<TrainingSpec> read_training(Params& params, Params::Presence presence) {
  std::vector<TrainingSpec> jobs;
  for (Params& job :
       params.list({"training", "Training jobs, each on devices of its own."}, 1, presence, most_jobs))
    jobs.push_back(read_job(std::move(job)));
  return jobs;
}

}  // namespace weir
