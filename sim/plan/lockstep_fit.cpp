// Whether a replica's attention-data ranks can be given batches of their own (parallelism.attention_data).
#include <fmt/format.h>

#include "sim/plan/scenario_parts.h"

namespace weir {

void check_lockstep(const ReplicaPlan& replica, const std::string& pointer, Reading& reading) {
  const ReplicaSpec& spec = replica.spec;
  if (spec.parallelism.attention_data == 1) return;
  const auto refuse = [&](const char* key, const std::string& why) {
    reading.problem(pointer + key, why + " where attention is data-parallel (attention_data)");
  };
  const Rank& rank = replica.rank;
  if (rank.placed_channels() > 1 || rank.keeps_kv_elsewhere())
    refuse("/parallelism/attention_data",
           fmt::format("cannot be above 1 on {}: KV caches cannot lie in {}", rank.on->spec().kind,
                       rank.keeps_kv_elsewhere() ? "another memory than the device's own"
                                                 : "several memory channels"));
  const BatchingPolicy& batching = *spec.batching;
  if (batching.interleaves() || batching.moves_kv_caches() || batching.predictor() != Predictor::none)
    refuse("/batching", "cannot split batches, move KV caches or ask for times of steps");
  if (spec.partitioning->neurons()) refuse("/partitioning", "cannot follow active neurons");
  if (spec.speculative) refuse("/speculative", "cannot draft tokens");
}

}  // namespace weir
