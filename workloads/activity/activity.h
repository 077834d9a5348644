#pragma once
// Which neurons of a model are active, token by token: `activity` of a workload, for systems that compute
// those alone. The workload's reader makes a NeuronActivity of the scenario's key; whoever knows the model
// binds it to the model's counts and draws a sequence a request. Pure: no clock, equal seeds give equal
// tokens. A layer or block that is not there throws std::out_of_range.
#include <cstdint>
#include <memory>
#include <span>

#include "sim/core/catalog.h"
#include "sim/core/neurons/neuron_block.h"

namespace weir {

struct NeuronCounts {
  std::int64_t layers = 0, attention = 0, mlp = 0;  // neurons of a layer: hidden_size, intermediate_size

  std::int64_t of(NeuronBlock block) const { return block == NeuronBlock::attention ? attention : mlp; }
  bool operator==(const NeuronCounts&) const = default;
};

// Of one sequence. The spans hold until it goes on or ends; before the first next() nobody is active.
class TokenActivity {
 public:
  virtual ~TokenActivity() = default;
  virtual void next() = 0;  // to the next token
  virtual std::span<const std::uint8_t> active(std::int64_t layer, NeuronBlock) const = 0;  // 1 or 0 a neuron
};

class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  // What an offline profile knows: the share of tokens that a neuron is active for.
  virtual std::span<const float> frequency(std::int64_t layer, NeuronBlock) const = 0;
  // None in layer 0.
  virtual std::span<const NeuronParents> parents(std::int64_t layer, NeuronBlock) const = 0;
  virtual std::unique_ptr<TokenActivity> sequence(std::uint64_t seed) const = 0;  // may outlive its source
};

class NeuronActivity {
 public:
  virtual ~NeuronActivity() = default;
  // Throws ConfigError, with pointers relative to `activity`, if it is of another model. Counts are positive.
  virtual std::unique_ptr<const ActivitySource> bind(const NeuronCounts&) const = 0;
};

const Catalog<NeuronActivity>& neuron_activities();

}  // namespace weir
