// Speculative decoding asks this of a replica: machines that attend for several rows of a decode, policies
// that give a decode as many positions.
#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

bool drafts_lie_in_cache(const ReplicaSpec& spec) {
  return spec.speculative && spec.speculative->drafting.by != Drafting::By::lookup;
}

// Bytes of KV cache go over alike, and the first drafts are the prompts'.
bool draft_alike(const ReplicaSpec& a, const ReplicaSpec& b) {
  if (drafts_lie_in_cache(a) != drafts_lie_in_cache(b)) return false;
  return !drafts_lie_in_cache(a) ||
         (a.speculative->kind == b.speculative->kind &&
          a.speculative->drafting.model.name == b.speculative->drafting.model.name);
}

}  // namespace

void check_drafts(const Scenario& s, const ReplicaPlan& replica, const std::string& pointer,
                  Reading& reading) {
  const ReplicaSpec& spec = replica.spec;
  if (!spec.speculative) return;
  const std::string here = pointer + "/speculative";
  const Drafting& drafting = spec.speculative->drafting;
  if (drafting.by == Drafting::By::model) {
    for (const std::string& note : drafting.model.notes) reading.note(here + "/model: " + note);
    if (drafting.model.vocabulary != s.model.vocabulary)
      reading.problem(here + "/model",
                      fmt::format("expected the vocabulary of {}, {} tokens ({} has {})", s.model.name,
                                  s.model.vocabulary, drafting.model.name, drafting.model.vocabulary));
  }
  const BatchingPolicy& batching = *spec.batching;
  if (batching.interleaves() || batching.moves_kv_caches() || batching.predictor() != Predictor::none)
    reading.problem(pointer + "/batching",
                    "cannot give a decode the positions of its drafts: it splits batches, moves KV caches or "
                    "asks for times of steps");
  const std::int64_t rows = batching.max_batch_requests() * (1 + spec.drafts());
  if (batching.max_batch_tokens() < rows)
    reading.problem(pointer + "/batching/max_batch_tokens",
                    fmt::format("expected at least {}, a token and {} drafts for each of max_batch_requests "
                                "(got {})",
                                rows, spec.drafts(), batching.max_batch_tokens()));
  if (!replica.rank.on->widens_decodes())
    reading.problem(here, fmt::format("{}{} attends for one row of a decode at a time: drafts cannot be "
                                      "verified there",
                                      replica.rank.on->spec().kind,
                                      replica.rank.host_memory() ? " with its host's memory" : ""));
  if (std::ranges::any_of(replica.stages, [](const StageGraph& stage) { return !stage.windows.empty(); }))
    reading.problem(pointer + "/prefetch", "cannot fetch ahead of what drafts tokens");
  const AcceptancePreset* preset = spec.speculative->preset;
  if (preset && std::ranges::find(preset->measures, s.model.name) == preset->measures.end())
    reading.note(fmt::format("{}/preset: {} was measured on {}, not on {}", here, preset->name, preset->model,
                             s.model.name));
}

void check_drafts_go_over(const Scenario& s, Reading& reading) {
  const auto takes_over = [](const ReplicaSpec& r) { return r.role == Role::decode; };
  const auto decode = std::ranges::find_if(s.replicas, takes_over);
  for (std::size_t i = 0; i < s.replicas.size() && decode != s.replicas.end(); ++i)
    if (!draft_alike(s.replicas[i], *decode))
      reading.problem(fmt::format("/serving/replicas/{}/speculative", i),
                      "prefill and decode replicas must draft in the same way, because the drafts' KV cache "
                      "goes over with the model's");
}

}  // namespace weir
