#pragma once
// Which tokens of which requests the next iteration computes. Called by a replica's serving actor whenever it has a
// free pipeline slot. Pure: a function of the snapshot; no clock, no SimGrid, no memory of its own. The engine
// carries the decision out and checks it (KV blocks are never promised twice).
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/catalog.h"

namespace weir {

// When a waiting request may join (kv_cache.admission): its next chunk fits the free blocks (vLLM v1), its whole
// prompt fits, or prompt and output fit together with what the running ones may still need (no preemption).
enum class Admission { chunk, prompt, sequence };

struct SequenceView {
  std::int64_t input_tokens;   // of the request
  std::int64_t output_tokens;  // what it will generate; a policy may use it only where it stands for a reservation
  std::int64_t known_tokens;   // prompt plus generated so far
  std::int64_t computed_tokens;  // of those, in the KV cache or scheduled into it
  std::int64_t blocks;           // KV blocks held
  bool in_flight;                // its last decode has not come back yet: nothing to schedule

  std::int64_t pending() const { return known_tokens - computed_tokens; }  // decode: 1, or 0 while in flight
  // Prompt (or, after a preemption by recomputation, prompt and output so far) not yet computed.
  bool prefilling() const { return computed_tokens < prefill_target; }
  std::int64_t prefill_target;  // known_tokens when it was admitted
  std::int32_t request = -1;    // the engine's name for it
};

struct ServingView {
  std::span<const SequenceView> running;  // in order of admission
  std::span<const SequenceView> waiting;  // first come, first served; preempted ones in front
  std::int64_t free_blocks;
  std::int64_t total_blocks;
  std::int64_t block_tokens;
  Admission admission;
  int pipeline_stages;
  bool more_to_come;  // requests may still arrive (static batching waits for a full batch only while true)
};

struct Slice {
  std::int32_t sequence;  // index into running, counting the admitted ones behind it
  std::int64_t tokens;    // >= 1
};

struct Batch {
  std::vector<Slice> slices;          // empty: nothing can be done until something changes
  std::vector<std::int32_t> preempted;  // indices into running whose blocks are taken away, in that order
  std::int32_t admitted = 0;          // from the front of waiting
  // The same decision would be taken again, decode by decode, until a request ends, one arrives at an empty queue
  // or the blocks run out: the engine may fast-forward. Only for batches of decodes with nothing to admit.
  bool repeatable = false;
  void clear() { slices.clear(); preempted.clear(); admitted = 0; repeatable = false; }
};

class BatchingPolicy {
 public:
  virtual ~BatchingPolicy() = default;
  virtual void next(const ServingView& view, Batch& batch) const = 0;  // fills a cleared batch; reused to save allocations
  virtual std::int64_t max_batch_requests() const = 0;
  virtual std::int64_t max_batch_tokens() const = 0;  // for the activation reserve
};

const Catalog<BatchingPolicy>& batching_policies();

}  // namespace weir
