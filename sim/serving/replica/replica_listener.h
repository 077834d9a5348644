#pragma once
// A listener hears what a replica does: a router that follows KV caches, a trace that is asked why. It
// overrides what it needs, and changes nothing. Called at times and in an order that are the same whether
// steps are summed or played one by one, but for decided(), begins() and stepped(): a run has one of each.
// What its KV cache holds is told when a step ends in which a prompt was computed or a request left, of
// decodes alone with the next such step; answers, when they have ended.
#include <cstdint>

#include "sim/core/units.h"

namespace weir {

struct Batch;
struct Iteration;
struct KvMove;
struct ServingView;
struct StepCost;
class Replica;

// A step, or a run of them, of one pipeline stage of a replica.
struct StepTaken {
  std::size_t stage, stages;
  Seconds start, end;
  Seconds first, last;  // that the first and the last step of a run take
  std::int64_t steps;
  const StepCost& cost;     // the sum over the steps
  Seconds without_prompts;  // what its decodes had taken alone; < 0: that is not known
  std::int64_t free_blocks, held_blocks;
};

class ReplicaListener {
 public:
  virtual ~ReplicaListener() = default;

  // Requests that the scheduler has not admitted.
  virtual void waiting(std::int64_t /*requests*/, Seconds /*now*/) {}
  // Blocks that requests hold.
  virtual void used(std::int64_t /*blocks*/, Seconds /*now*/) {}
  // Blocks of a text, from its first on with those that it shares, that others would find; 0: none.
  virtual void kept(std::int32_t /*text*/, std::int64_t /*blocks*/, Seconds /*now*/) {}

  // A request reaches the front end; the queue, behind so many; runs, with so many of its tokens in the KV
  // cache; has its first token, and leaves, all the tokens that it gets here: the client sees these then.
  virtual void accepted(std::int32_t /*request*/, Seconds /*now*/) {}
  virtual void queued(std::int32_t /*request*/, std::int64_t /*behind*/, Seconds /*now*/) {}
  virtual void admitted(const Replica&, std::int32_t /*request*/, std::int64_t /*tokens*/, Seconds /*now*/) {}
  virtual void first_token(std::int32_t /*request*/, Seconds /*seen*/, Seconds /*now*/) {}
  virtual void left(std::int32_t /*request*/, bool /*goes_on*/, Seconds /*seen*/, Seconds /*now*/) {}
  // A KV cache that was on its way is there.
  virtual void arrived(const KvMove&, Seconds /*now*/) {}

  // A policy saw this and answered so, before that is carried out; the iteration that it becomes, with the
  // moves that begin before it; its steps, when they are over.
  virtual void decided(const Replica&, const ServingView&, const Batch&, Seconds /*now*/) {}
  virtual void begins(const Iteration&, Seconds /*now*/) {}
  virtual bool hears_steps() const { return false; }  // stepped(), which costs something to call
  virtual void stepped(const Iteration&, const StepTaken&) {}
};

}  // namespace weir
