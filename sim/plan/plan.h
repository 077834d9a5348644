#pragma once
// A plan is what follows from a scenario before anything runs: replicas on devices, links found, stages
// placed, KV pools sized. Steps are asked of it without SimGrid (StepModel of a stage on its rank); serving
// plays it (simulation.h).
#include "sim/plan/device_place.h"
#include "sim/plan/scenario.h"

namespace weir {

struct NeuronPlan;  // neurons/neuron_plan.h

// ESTIMATE: one way through a PCIe switch and root port; Neugebauer et al., "Understanding PCIe performance
// for end host networking", SIGCOMM 2018, measure 0.5-1 us a round trip on several hosts.
inline constexpr Seconds pcie_latency(0.5e-6);

// Blocks are counted in pools: of a device's memory channels all together, each by itself, or some of either.
struct KvPools {
  std::vector<std::int64_t> blocks;  // of each
  std::vector<int> of_channel;       // which one
  int spare_channel = -1;            // that of the memory to spare (KvMemory, batch.h); -1: there is none

  bool several_channels() const { return of_channel.size() > 1; }
  // A placement policy deals out all but the spare one.
  int placed_channels() const { return static_cast<int>(of_channel.size()) - (spare_channel >= 0 ? 1 : 0); }
};

// The memory that engines print as they start: a rank's, in the stage with the least room for KV caches.
struct RankMemory {
  Bytes weights{0};           // in the device's own memory
  Bytes activations{0};       // and what the engine's libraries take
  Bytes kept_by_requests{0};  // states and windows
  Bytes kv_per_token{0};
  std::int64_t kv_tokens = 0;  // one attention-data rank's, in whole blocks
  std::int64_t longest = 0;    // the longest request that is allowed; 0: no limit is known

  Bytes kv_cache() const { return static_cast<double>(kv_tokens) * kv_per_token; }
  // Requests of the longest that fit at once.
  std::optional<double> max_concurrency() const {
    return longest > 0 ? std::optional(static_cast<double>(kv_tokens) / static_cast<double>(longest))
                       : std::nullopt;
  }
};

// Alike replicas: an entry of serving.replicas.
struct ReplicaPlan {
  ReplicaSpec spec;        // as it was typed
  std::uint64_t seed = 0;  // the scenario's
  Rank rank;
  std::vector<ReplicaPlace> places;  // one a replica
  std::vector<StageGraph> stages;    // placed on a rank
  std::int64_t kv_blocks = 0;        // one attention-data rank's, all channels': of its fullest stage
  KvPools kv_pools;                  // that they are in
  RankMemory memory;
  std::int64_t swap_blocks = 0;               // as large, that the host's swap space holds
  std::vector<std::int64_t> tier_chunks;      // by KV tier
  MhaParameters mha{};                        // one rank's share of the model
  std::shared_ptr<const NeuronPlan> neurons;  // null: it computes whole matrices
};

// Bytes of one rank of that stage: its layers' keys and values, and on the last stage those of what drafts.
Bytes kv_bytes_per_token(const Scenario& scenario, const ReplicaSpec& replica, int stage);

struct Plan {
  Scenario scenario;
  std::vector<ReplicaPlan> replicas;  // in the scenario's order
  std::vector<TrainingJob> training;  // likewise
};

// Reads a scenario and plans it. Throws ConfigError with every problem there is.
Plan read_plan(const Json& document, const std::string& file);

}  // namespace weir
