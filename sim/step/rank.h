#pragma once
// One rank of a replica as its steps need it: the device, the links to the other ranks of its group, the
// policies that place operators, and the serving engine around them. All ranks of a replica are alike. A plan
// has one for each group of replicas (sim/plan/plan.h); studies and tests may put their own together.
#include <array>
#include <memory>
#include <string>

#include "devices/device.h"
#include "models/latency/collectives.h"
#include "models/latency/collectives_by_level.h"
#include "models/latency/expert_exchange.h"
#include "models/llm/operator_graph.h"
#include "policies/partitioning/partitioning.h"
#include "policies/placement/placement.h"
#include "policies/prefetch/prefetch.h"
#include "sim/step/alternation.h"
#include "sim/step/cost/engine_cost.h"

namespace weir {

struct Rank {
  std::shared_ptr<const Device> on;
  // The memories of the device that KV caches live in (kv_memories_of). Their members are the channels,
  // numbered in this order; a placement policy deals out those of the first.
  std::vector<int> kv_memories = {own_memory};
  LinkSpec links;                    // of its tensor-parallel group, in its node
  std::optional<NodeLevels> levels;  // where the group spans nodes, as many in each
  std::shared_ptr<const CollectiveModel> collectives;
  struct Group {  // of ranks, and the same of it
    LinkSpec links;
    std::optional<NodeLevels> levels;
    std::shared_ptr<const CollectiveModel> collectives;
  };
  Group stage;  // all of its stage's; not asked where these are its tensor group
  // The share of the device that matrices of prompts have beside an exchange in the other of two batches.
  double multiprocessors_left = 1;
  // By method; null: no operator of the rank's sends tokens that way.
  std::array<std::shared_ptr<const ExpertExchange>, exchange_methods> exchanges = {};
  std::shared_ptr<const PartitioningPolicy> partitioning;
  std::shared_ptr<const ChannelPlacementPolicy> placement;
  std::shared_ptr<const PrefetchPolicy> prefetch;
  EngineOverhead engine;
  std::optional<Alternations> alternations = {};  // none: two batches go on whenever they can

  const Memory& kv_memory() const { return on->spec().memories[static_cast<std::size_t>(kv_memories[0])]; }
  bool keeps_kv_in_host() const { return kv_memory().of_host; }
  // Its share of the memory of the node's host, which holds KV caches or weights; null: it uses none.
  const Memory* host_memory() const;
  bool keeps_kv_elsewhere() const { return kv_memories[0] != own_memory; }
  int placed_channels() const { return kv_memory().members; }
  // An operator costs this in this batch, on its unit or over the links.
  KernelCost cost(const Operator& op, const BatchShape& batch, std::int64_t layer = 0) const;
  // Its decodes in a run of steps (Device::decode_attention).
  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const;
  // The same where members of the unit share it, and what each has to do, alone: `members`.
  KernelCost cost(const Operator& op, const BatchShape& batch, std::int64_t layer,
                  std::span<Seconds> members) const;
  // Why the device cannot run the placed stage (Device::cannot_run), or "".
  std::string cannot_run(const StageGraph& placed) const;
  // Names kernels that nobody measured under its engine's library (Device::stand_ins), or "".
  std::string stand_ins(const StageGraph& placed) const;
  // Its layers that the device's measured tables lack (Device::analytic_layers).
  std::vector<std::string> analytic_layers(const StageGraph& placed) const;
  // That of the second memory, the device's own, which has room to spare beside the first; -1: there is none.
  int spare_channel() const { return kv_memories.size() > 1 ? placed_channels() : -1; }
};

// The memories that the device keeps for KV caches, or its own; `spare`: behind these its own too.
std::vector<int> kv_memories_of(const DeviceSpec& device, bool spare = false);

// A stage of a model (build_stage) as the rank's partitioning policy and, in the end, its prefetch policy
// place it. Throw std::invalid_argument where the device lacks a unit that these need.
StageGraph partitioned(StageGraph stage, const Rank& rank);
StageGraph with_prefetches(StageGraph partitioned, const Rank& rank);
StageGraph placed(StageGraph stage, const Rank& rank);

}  // namespace weir
