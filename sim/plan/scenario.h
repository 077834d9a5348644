#pragma once
// A scenario as it was typed, every default filled in and every name looked up. What follows from it is a
// plan (plan.h). docs: `weir list`, scenarios/schema.json, scenarios/reference.json.
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/host_memory/host_memory.h"
#include "models/machine/availability.h"
#include "policies/batching/batching.h"
#include "policies/routing/routing.h"
#include "policies/speculation/speculation.h"
#include "sim/plan/calibration.h"
#include "sim/plan/training_spec.h"
#include "sim/step/rank.h"
#include "workloads/workload.h"

namespace weir {

struct DeviceGroup {  // devices of one kind in one node
  std::shared_ptr<const Device> device;
  int count = 0;
  std::size_t index = 0;  // in the node's list
  Availability availability = {};
  std::optional<int> only = {};  // the one of the group that it is of; otherwise of all

  // Null: that one of them is always there, at its own speed.
  const Availability* availability_of(int member) const {
    return availability.always() || (only && *only != member) ? nullptr : &availability;
  }
};

struct NodeSpec {
  int count = 1;                                  // nodes like this one
  std::vector<DeviceGroup> devices;               // that run models
  std::shared_ptr<const HostMemory> host_memory;  // that holds KV caches beside them, if any
  Availability host_availability = {};            // of host_memory
  LinkSpec interconnect;

  // That run models, which a host's memory and links are dealt out to; of all where none does.
  int device_count() const;
};

struct NetworkSpec {
  std::string topology;  // star, fat_tree, dragonfly, torus, full_mesh
  BytesPerSecond link_bandwidth;
  Seconds link_latency;
  std::optional<int> links_per_node = {};  // one a device

  int links_of(int devices) const { return links_per_node.value_or(devices); }
};

enum class Role { both, prefill, decode };
enum class Preemption { recompute, swap };

// How a prefill replica sends a prompt's KV cache: when all of it is there, or each layer as it is computed.
enum class Handover { whole, layerwise };

// Whose blocks a request finds that were computed before: nobody's, only its own when it was preempted, or
// all that begin as it does.
enum class PrefixCaching { none, own, shared };

// A memory behind the KV cache that keeps chunks of it, for prompts that begin alike: LMCache's, a
// connector's of vLLM, HiCache's.
struct KvTierSpec {
  enum class Kind { host, disk, shared };  // shared: by all replicas
  enum class Stores { prompt, all };       // prompt: answers are not kept
  // While a request's chunks are loaded the others' steps go on, or none does.
  enum class Loads { overlapped, stall };

  Kind kind = Kind::host;
  Bytes capacity{0};                          // of the whole tier
  std::optional<BytesPerSecond> read, write;  // of each rank, alone; empty: the node's link is the limit
  Seconds latency{0};                         // before the first byte
  std::int64_t chunk_tokens = 256;
  Stores stores = Stores::prompt;
  Loads loads = Loads::overlapped;
  double stored_after_load = 1;  // the probability that a prompt which was loaded in part is stored
  std::int64_t write_through_threshold = 1;  // prompts that begin with a chunk before it is stored

  bool operator==(const KvTierSpec&) const = default;
};

// By which a prompt is found: vLLM's hashes of full blocks, or SGLang's radix tree.
enum class PrefixIndex { blocks, radix_tree };

struct KvCacheSpec {
  std::int64_t block_tokens = 16;
  double memory_fraction = 0.9;                // of device memory, weights and reserve included
  std::optional<double> free_memory_fraction;  // of what weights leave
  std::optional<std::int64_t> blocks;          // exact
  Admission admission = Admission::chunk;
  double watermark = 0;  // share of the blocks that an admission leaves free
  Preemption preemption = Preemption::recompute;
  Bytes swap_space{4. * (1 << 30)};  // of the host's memory, a device
  PrefixCaching prefix_caching = PrefixCaching::shared;
  std::optional<PrefixIndex> prefix_index = PrefixIndex::blocks;  // once a replica is read, never empty
  Handover handover = Handover::whole;
  std::vector<KvTierSpec> tiers;  // nearest first
};

// How a token is drawn from its logits.
enum class Sampler {
  fused,  // a kernel masks logits and draws from probabilities
  sort    // logits are sorted first
};

// The memory that an engine takes beside weights, activations and KV cache.
struct EngineMemory {
  Sampler sampler = Sampler::fused;
  Bytes cuda_graphs{0};
};

// A replica's front end, between its clients and its scheduler: HTTP, tokeniser, detokeniser.
struct FrontEndSpec {
  Seconds per_request{0}, per_prompt_token{0};         // of each by itself, however many come
  std::optional<double> requests_per_s, tokens_per_s;  // one after another; empty: any number

  bool takes_time() const { return per_request + per_prompt_token > Seconds(0) || requests_per_s; }
};

struct ReplicaSpec {
  int count = 1;
  Role role = Role::both;
  std::optional<std::string> device;  // kind to place it on; otherwise the next free devices
  Sharding parallelism;
  std::shared_ptr<const BatchingPolicy> batching;
  std::shared_ptr<const PartitioningPolicy> partitioning;
  std::shared_ptr<const ChannelPlacementPolicy> placement;
  std::shared_ptr<const PrefetchPolicy> prefetch;
  std::shared_ptr<const Speculation> speculative;  // null: a decode is one token
  KvCacheSpec kv_cache;
  EngineOverhead engine;
  Calibration calibration;
  EngineMemory memory;
  FrontEndSpec front_end;
  int scheduled_ahead = 0;           // steps that are decided when one begins
  std::int64_t recv_interval = 1;    // steps of decodes alone from one look at who has come to the next
  std::int64_t prompt_interval = 1;  // steps from one that new prompts may begin in to the next
  bool two_batches = false;          // cut in half, side by side
  std::optional<std::int64_t> max_model_len;

  // Whether a request that comes may be seen later than by the next decision.
  bool sees_late() const { return scheduled_ahead > 0 || recv_interval > 1 || prompt_interval > 1; }
  // Whether a step may be two sub-batches.
  bool interleaves() const { return two_batches || batching->interleaves(); }
  // Drafted tokens that a decode verifies beside its own. Where there are prompts alone these are drafted,
  // and their generation verifies them elsewhere.
  std::int64_t drafts() const { return speculative && role != Role::prefill ? speculative->drafts() : 0; }
  // Whether requests find what others left, which must stay in one memory. On a replica that goes on with
  // prompts that others computed that need not be sent.
  bool shares_prefixes() const {
    return kv_cache.prefix_caching == PrefixCaching::shared && !batching->moves_kv_caches() &&
           !(role == Role::decode && kv_cache.preemption == Preemption::swap);
  }
  PrefixIndex prefix_index() const {
    return shares_prefixes() ? *kv_cache.prefix_index : PrefixIndex::blocks;
  }
  bool hands_over_layerwise() const {
    return role == Role::prefill && kv_cache.handover == Handover::layerwise;
  }
};

struct Slo {
  std::optional<Seconds> ttft, tpot;
};

struct Scenario {
  static constexpr std::uint64_t usual_seed = 1;

  std::string file, name;
  std::uint64_t seed = 0;
  Architecture model;
  Precision precision;
  std::vector<NodeSpec> nodes;
  NetworkSpec network;
  std::vector<ReplicaSpec> replicas;  // none: it trains alone
  bool serves() const { return !replicas.empty(); }
  std::shared_ptr<const RoutingPolicy> routing;
  Workload workload;
  Slo slo;
  std::vector<TrainingSpec> training;  // of a scenario that trains; it has no replicas then
  std::string assumptions;
  bool collective_flows = false;
  bool actor_a_device = true;  // otherwise one for the alike devices of a group in lockstep
  bool fast_forward = true;
  std::optional<Seconds> time_limit;
  std::optional<Seconds> sample_period;  // of timeseries.csv; null: 200 to 400 samples
  Json resolved;                         // the whole input with its defaults
  std::vector<std::string> notes;
  std::set<std::filesystem::path> files;  // that it names and results depend on: traces, profiles, ...
};

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
