// A replica cannot be told this beside attention data parallelism, whose ranks have batches of their own, or
// two batches side by side.
#include <fmt/format.h>

#include "sim/plan/scenario_parts.h"

namespace weir {

namespace {

class Refusals {
 public:
  Refusals(const ReplicaPlan& replica, const std::string& pointer, Reading& reading)
      : replica_(replica), spec_(replica.spec), pointer_(pointer), reading_(reading) {}

  void of_attention_data() {
    where_ = " where attention is data-parallel (attention_data)";
    keys_in_own_memory("/parallelism/attention_data");
    whole_batches();
    if (spec_.speculative) refuse("/speculative", "cannot draft tokens");
  }

  void of_two_batches() {
    where_ = " where engine.two_batch_overlap cuts batches in two";
    keys_in_own_memory("/engine/two_batch_overlap");
    whole_batches();
    if (spec_.speculative) refuse("/speculative", "cannot draft tokens");
  }

 private:
  void refuse(const char* key, const std::string& why) { reading_.problem(pointer_ + key, why + where_); }
  void keys_in_own_memory(const char* key) {
    const Rank& rank = replica_.rank;
    if (rank.placed_channels() > 1 || rank.keeps_kv_elsewhere())
      refuse(key, fmt::format("KV caches of {} cannot lie in {}", rank.on->spec().kind,
                              rank.keeps_kv_elsewhere() ? "another memory than the device's own"
                                                        : "several memory channels"));
  }
  void whole_batches() {
    const BatchingPolicy& batching = *spec_.batching;
    if (batching.interleaves() || batching.moves_kv_caches() || batching.predictor() != Predictor::none)
      refuse("/batching", "cannot split batches, move KV caches or ask for times of steps");
    if (spec_.partitioning->neurons()) refuse("/partitioning", "cannot follow active neurons");
  }

  const ReplicaPlan& replica_;
  const ReplicaSpec& spec_;
  const std::string& pointer_;
  Reading& reading_;
  std::string where_;
};

}  // namespace

void check_lockstep(const ReplicaPlan& replica, bool flows, const std::string& pointer, Reading& reading) {
  Refusals refusals(replica, pointer, reading);
  if (replica.spec.parallelism.attention_data > 1) refusals.of_attention_data();
  if (replica.spec.two_batches) refusals.of_two_batches();
  if (flows && replica.spec.parallelism.experts.communication != ExpertSharing::Communication::all_gather)
    reading.problem("/collectives", "cannot be \"flows\" where tokens are sent to experts, as those of " +
                                        pointer +
                                        " are (communication): nobody knows these kernels' messages");
}

}  // namespace weir
