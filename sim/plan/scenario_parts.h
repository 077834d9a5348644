#pragma once
// The reader of a scenario and the maker of its plan in parts, one a file: what read_plan (plan.cpp) calls,
// and no other file.
#include <map>

#include "sim/plan/plan.h"

namespace weir {

inline constexpr Key policy_kind{"kind", "See `weir list policies`."};

Scenario read_scenario(Params params);                                              // scenario.cpp
std::vector<NodeSpec> read_nodes(Params& cluster, const std::string& assumptions);  // read_cluster.cpp
void read_availability(Params& device, DeviceGroup& group);                         // availability.cpp
NetworkSpec read_network(Params network, const std::vector<NodeSpec>& nodes);       // read_cluster.cpp
// The scenario's model and nodes are read already (read_replicas.cpp).
std::vector<ReplicaSpec> read_replicas(Params& serving, const Scenario& scenario);
std::vector<TrainingSpec> read_training(Params& params, Params::Presence presence);  // training_spec.cpp
std::vector<KvTierSpec> read_kv_tiers(Params& kv_cache, std::int64_t block_tokens);  // kv_tiers.cpp
// A key that is not given is the preset's, or the calibration's where it says so (engine_presets.cpp).
EngineOverhead read_engine(Params& engine, const Calibration& calibration = {});
void read_front_end(Params& engine, ReplicaSpec& replica);      // read_front_end.cpp
void read_engine_memory(Params& engine, ReplicaSpec& replica);  // engine_memory.cpp
// Bytes of the sampler's peak, one of its rows' and one number's of the vocabulary (engine_memory.cpp).
double bytes_per_logit(Sampler sampler, std::int64_t rows);
// Whether the engine that a scenario gives limits requests at once by a device's memory (engine_presets.cpp).
bool limits_requests_by_memory(const Json* engine);
// An engine's own limit of requests at once on a device, where it goes by memory (engine_memory.cpp).
std::int64_t usual_batch_requests(const DeviceSpec& device);

Alternations alternations_of(const std::string& engine);  // alternations.cpp

// The rank has these links to the others (activation_reserve.cpp).
Bytes activation_reserve(const Scenario& scenario, const ReplicaSpec& replica, const LinkSpec& links);
// The memory that the replica's memory_fraction or free_memory_fraction leaves to a device's KV cache beside
// its weights (kv_room.cpp).
Bytes beside_weights(const ReplicaSpec& replica, Bytes memory, Bytes weights, Bytes reserve);
// Names the least devices that a replica which does not fit on its own would fit on, or ""
// (smallest_fit.cpp).
std::string smallest_layout_that_fits(const Scenario& scenario, const ReplicaPlan& replica);
// The states and windows that as many requests as may run at once keep on a device of the stage
// (kv_room.cpp).
Bytes kept_by_requests(const Scenario& scenario, const ReplicaSpec& replica, int stage);

// Sizes the KV cache of a replica that stands on its devices (kv_room.cpp), and reports what does not fit.
void fit_kv_cache(const Scenario& scenario, ReplicaPlan& replica, const std::string& pointer,
                  Reading& reading);

// How many chunks its tiers hold, by tier; reports one that holds none (kv_tiers.cpp).
void fit_kv_tiers(const Scenario& scenario, ReplicaPlan& replica, const std::string& pointer,
                  Reading& reading);

// The reason that keeps a replica that stands on its devices from speculative decoding, if it asks for it;
// and replicas from handing over to each other where they draft (drafts_fit.cpp).
void check_drafts(const Scenario& scenario, const ReplicaPlan& replica, const std::string& pointer,
                  Reading& reading);
void check_drafts_go_over(const Scenario& scenario, Reading& reading);

// And from attention data parallelism or two batches side by side (lockstep_fit.cpp).
void check_lockstep(const ReplicaPlan& replica, bool flows, const std::string& pointer, Reading& reading);

// The links of the groups of a replica that stands there (group_links.cpp): those in `node`, and with them
// those to other nodes where each stage spans as many, with as many devices in each. Otherwise a group that
// spans nodes is a ring through all of its devices.
struct GroupLinks {
  LinkSpec links;
  std::optional<NodeLevels> levels;
};
GroupLinks links_between(const ReplicaPlace& place, const NodeSpec& node, const NetworkSpec& network);
// The same with its collectives; `groups` as if each were a stage.
Rank::Group group_of(const ReplicaPlace& groups, const NodeSpec& node, const NetworkSpec& network,
                     const std::string& library);
// The kernels by which a rank that stands there sends tokens to experts, or why it cannot, or ""
// (exchanges.cpp).
std::string take_exchanges(const Sharding& cut, Rank& rank);
// Each as if it were a stage.
ReplicaPlace tensor_groups(const ReplicaPlace& place, const Sharding& cut);
// By stage: how many devices it has in each node, counted from its first.
std::vector<std::map<int, int>> spread_of(const ReplicaPlace& place);

// A device of the cluster, for those that put replicas and training jobs on it (slots.cpp).
struct Slot {
  DevicePlace place;
  const DeviceGroup* group;
  const NodeSpec* node;
  Json::json_pointer described;  // the group in the resolved scenario
  int number = 0;                // in the group
  bool taken = false;
};
std::vector<Slot> slots_of(const std::vector<NodeSpec>& nodes);
// The first free ones of the wanted kind, all of one group; empty where there are too few. A replica no
// larger than a node stays inside one: the first node with enough of them left. A larger one begins on a free
// node, and takes what others have left of theirs only where there are not enough.
std::vector<Slot*> find_devices(std::vector<Slot>& slots, const std::optional<std::string>& kind,
                                std::size_t count);

// Puts every replica on devices, in order, and works out what depends on them (placement.cpp). Reports what
// does not fit at /serving/replicas/N.
void place_replicas(Plan& plan, Reading& reading);

// Puts every training job on devices that no replica and no job before has (training_placement.cpp). Reports
// what does not fit at /training/N.
void place_training(Plan& plan, Reading& reading);
// Weights, gradients, the optimiser's state and saved activations fit where the job has them
// (training_room.cpp). Reports bytes by layer at /training/N/batch where not.
void check_training_room(const TrainingJob& job, const std::string& pointer, Reading& reading);

// For messages: partitioning policies that keep KV caches or weights in a host's memory, placement policies
// by which layers go round the channels, and devices that are a host's memory (alternatives.cpp).
std::string partitioning_into_host_memory(bool HostMemoryUse::*what);
std::string placement_of_layers();
std::string host_memories();

// Notes every key that has no effect, or another than its words say (without_effect.cpp).
void note_what_has_no_effect(const Plan& plan, Reading& reading);

}  // namespace weir
