#pragma once
// A listener hears what a replica does, as a router does that follows KV caches. Called at times and in an
// order that are the same whether steps are summed or played one by one: what its KV cache holds is told when
// a step ends in which a prompt was computed or a request left, of decodes alone with the next such step;
// answers, when they have ended.
#include <cstdint>

#include "sim/core/units.h"

namespace weir {

class ReplicaListener {
 public:
  virtual ~ReplicaListener() = default;
  virtual void first_token(std::int32_t request) = 0;
  // Requests that the scheduler has not admitted.
  virtual void waiting(std::int64_t requests, Seconds now) = 0;
  // Blocks that requests hold.
  virtual void used(std::int64_t blocks, Seconds now) = 0;
  // Blocks of a text, from its first on with those that it shares, that others would find; 0: none.
  virtual void kept(std::int32_t text, std::int64_t blocks, Seconds now) = 0;
};

}  // namespace weir
