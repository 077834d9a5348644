#pragma once
// A scenario, read and validated whole before anything runs: every default filled in, every name looked up,
// the model cut and fitted onto devices. docs: `weir list`, scenarios/schema.json, scenarios/reference.json.
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/device.h"
#include "policies/batching/batching.h"
#include "policies/partitioning/partitioning.h"
#include "policies/placement/placement.h"
#include "policies/prefetch/prefetch.h"
#include "policies/routing/routing.h"
#include "workloads/workload.h"

namespace weir {

struct EngineOverhead {  // host time of one step beside the kernels
  std::string kind;
  Seconds per_step;
  Seconds per_sequence;            // not paid on a profiled device, whose tables time the sampler
  std::string collective_library;  // which measured library the links are timed with; "" is plain ring
  bool pipelined_chunks = true;    // a prompt's next chunk may follow the one before into the pipeline
};

struct DeviceGroup {  // devices of one kind in one node
  std::shared_ptr<const Device> device;
  int count = 0;
  std::size_t index = 0;  // in the node's list
};

struct NodeSpec {
  int count = 1;                              // nodes like this one
  std::vector<DeviceGroup> devices;           // that run models
  std::shared_ptr<const Device> host_memory;  // that holds KV caches beside them, if any
  LinkSpec interconnect;
};

struct NetworkSpec {
  std::string topology;  // star, fat_tree, dragonfly, torus, full_mesh
  BytesPerSecond link_bandwidth;
  Seconds link_latency;
};

enum class Role { both, prefill, decode };
enum class Preemption { recompute, swap };

struct KvCacheSpec {
  std::int64_t block_tokens = 16;
  double memory_fraction = 0.9;                // of device memory, weights and reserve included
  std::optional<double> free_memory_fraction;  // of what weights leave
  std::optional<std::int64_t> blocks;          // exact
  Admission admission = Admission::chunk;
  Preemption preemption = Preemption::recompute;
  bool prefix_caching = true;  // of a preempted request's own blocks
};

// What blocks are counted in: of a device's memory channels all together, each by itself, or some of either.
struct KvPools {
  std::vector<std::int64_t> blocks;  // of each
  std::vector<int> of_channel;       // which one
};

struct DevicePlace {
  int node = 0, slot = 0;  // nodes counted one by one, slots within a node
};
using ReplicaPlace = std::vector<std::vector<DevicePlace>>;  // [stage][tensor-parallel rank]

struct ReplicaSpec {
  int count = 1;
  Role role = Role::both;
  std::optional<std::string> device;  // kind to place it on; otherwise the next free devices
  Sharding parallelism;
  std::shared_ptr<const BatchingPolicy> batching;
  std::shared_ptr<const PartitioningPolicy> partitioning;
  std::shared_ptr<const ChannelPlacementPolicy> placement;
  std::shared_ptr<const PrefetchPolicy> prefetch;
  KvCacheSpec kv_cache;
  EngineOverhead engine;
  std::optional<std::int64_t> max_model_len;

  // Worked out by the reader:
  std::shared_ptr<const Device> on;                    // all devices of a replica are alike
  std::vector<ReplicaPlace> places;                    // one a replica
  std::int64_t kv_blocks = 0;                          // one replica's, all channels': of its fullest stage
  KvPools kv_pools;                                    // that they are in
  MhaParameters mha{};                                 // of one rank's share of the model
  std::shared_ptr<const CollectiveModel> collectives;  // of a stage's tensor-parallel group
  LinkSpec links;                                      // which it runs over
};

struct Slo {
  std::optional<Seconds> ttft, tpot;
};

struct Scenario {
  std::string file, name;
  std::uint64_t seed = 0;
  Architecture model;
  Precision precision;
  std::vector<NodeSpec> nodes;
  NetworkSpec network;
  std::vector<ReplicaSpec> replicas;
  std::shared_ptr<const RoutingPolicy> routing;
  Workload workload;
  Slo slo;
  std::string assumptions;
  bool collective_flows = false;
  bool fast_forward = true;
  std::optional<Seconds> time_limit;
  std::optional<Seconds> sample_period;  // of timeseries.csv; null: 200 to 400 samples
  Json resolved;                         // the whole input with its defaults
  std::vector<std::string> notes;
  std::set<std::filesystem::path> files;  // that it names and results depend on: traces, profiles, ...
};

// Throws ConfigError with every problem there is.
Scenario read_scenario(const Json& document, const std::string& file);
Json scenario_schema();

// Requests that run though they are longer than what the model was made for: of the papers' systems many are.
struct BeyondContext {
  std::int64_t requests = 0, longest = 0;  // input and output tokens together
};
BeyondContext beyond_context(const Scenario& scenario);

struct NamedSummary {
  std::string name, summary;
};
std::vector<NamedSummary> topologies();
std::vector<NamedSummary> engines();

}  // namespace weir
