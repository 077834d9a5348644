#pragma once
// The reader of a scenario and the maker of its plan in parts, one a file: what read_plan (plan.cpp) calls,
// and nobody else.
#include <map>

#include "sim/plan/plan.h"

namespace weir {

inline constexpr Key policy_kind{"kind", "See `weir list policies`."};

Scenario read_scenario(Params params);                                              // scenario.cpp
std::vector<NodeSpec> read_nodes(Params& cluster, const std::string& assumptions);  // cluster_spec.cpp
void read_availability(Params& device, DeviceGroup& group);                         // availability.cpp
NetworkSpec read_network(Params network, const std::vector<NodeSpec>& nodes);       // cluster_spec.cpp
std::vector<ReplicaSpec> read_replicas(Params& serving);                            // serving_spec.cpp
EngineOverhead read_engine(Params engine);                                          // engine_presets.cpp

Bytes activation_reserve(const Scenario& scenario, const ReplicaSpec& replica);  // activation_reserve.cpp

// Sizes the KV cache of a replica that stands on its devices (kv_room.cpp), and reports what does not fit.
void fit_kv_cache(const Scenario& scenario, ReplicaPlan& replica, const std::string& pointer,
                  Reading& reading);

// The links of the groups of a replica that stands there (group_links.cpp): those in `node`, and with them
// those to other nodes where each stage spans as many, with as many devices in each. Otherwise a group that
// spans nodes is a ring through all of its devices.
struct GroupLinks {
  LinkSpec links;
  std::optional<NodeLevels> levels;
};
GroupLinks links_between(const ReplicaPlace& place, const NodeSpec& node, const NetworkSpec& network);
// By stage: how many devices it has in each node, counted from its first.
std::vector<std::map<int, int>> spread_of(const ReplicaPlace& place);

// Puts every replica on devices, in order, and works out what depends on them (placement.cpp). Reports what
// does not fit at /serving/replicas/N.
void place_replicas(Plan& plan, Reading& reading);

// For messages: partitioning policies that keep KV caches or weights in a host's memory, placement policies
// by which layers go round the channels, and devices that are a host's memory (alternatives.cpp).
std::string partitioning_into_host_memory(bool HostMemoryUse::*what);
std::string placement_of_layers();
std::string host_memories();

// Notes every key that has no effect, or another than its words say (without_effect.cpp).
void note_what_has_no_effect(const Plan& plan, Reading& reading);

}  // namespace weir
