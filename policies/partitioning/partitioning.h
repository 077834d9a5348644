#pragma once
// Which unit of a device runs which operator of a model. Called by the engine once per pipeline stage and
// configuration, before the run: a placed graph's structure stays, only its operators' times follow the
// batch. Pure: no clock, no device; it knows the device's units by what they run.
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/llm/operator_graph.h"
#include "models/machine/machine.h"
#include "sim/core/catalog.h"

namespace weir {

// A key of the policy is why it cannot place a stage.
struct UnfitKey : std::invalid_argument {
  UnfitKey(std::string which, const std::string& what) : std::invalid_argument(what), key(std::move(which)) {}
  std::string key;
};

// A policy keeps these in the memory of the node's host, where one stands among its devices.
struct HostMemoryUse {
  bool kv_caches = false;  // decodes attend there, if that memory can
  bool spare = false;      // but to those for whose KV cache the device's own memory has room
  bool weights = false;    // StageGraph::Weights says how many

  bool any() const { return kv_caches || weights; }
};

struct NeuronUse;  // neurons/neuron_use.h

class PartitioningPolicy {
 public:
  virtual ~PartitioningPolicy() = default;
  // Sets Operator::unit, an index into `units` of one that runs it, everywhere; may split operators or add
  // some. Throws std::invalid_argument if the device lacks a unit it needs.
  virtual StageGraph place(StageGraph stage, std::span<const Unit> units) const = 0;
  virtual HostMemoryUse host_memory() const { return {}; }
  // A policy that computes active neurons alone says how; null: it computes whole matrices.
  virtual const NeuronUse* neurons() const { return nullptr; }
};

const Catalog<PartitioningPolicy>& partitioning_policies();

}  // namespace weir
