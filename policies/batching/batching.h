#pragma once
// Which tokens of which requests the next iteration computes. Called by a replica's serving actor whenever it
// has a free pipeline slot. Pure: a function of the snapshot; no clock, no SimGrid, no memory of its own. The
// engine carries the decision out and checks it (KV blocks are never promised twice).
//
// Most policies are first come, first served: they admit from the front of `waiting` and nobody overtakes. So
// an arrival, which goes to the back, changes the next decision only where `waiting` was empty: behind a head
// that was not admitted it cannot be, and that head stays shut out until a request ends, a batch or a KV
// transfer comes back. An engine may therefore wake a replica on arrivals at an empty queue only, unless the
// batch says otherwise, as it does where one that arrives could overtake. Requests that arrive at one instant
// should all be in the queue before the policy is asked (a static batch takes what it sees).
#include <cstdint>
#include <span>

#include "policies/batching/batch.h"
#include "policies/batching/predict/step_times.h"
#include "policies/batching/prefixes.h"
#include "sim/core/catalog.h"
#include "sim/core/request.h"

namespace weir {

// When a waiting request may join (kv_cache.admission): the blocks of its next chunk are free (vLLM v1),
// those of its whole prompt are (vLLM's scheduler_reserve_full_isl), or of prompt and output together beside
// what the running ones may still need (no preemption).
enum class Admission { chunk, prompt, sequence };

struct SequenceView {
  std::int64_t input_tokens;  // of the request
  // It will generate so many; for a policy only where they stand for a reservation, or for a prediction
  // that the policy's documentation names.
  std::int64_t output_tokens;
  std::int64_t known_tokens;     // prompt plus generated so far
  std::int64_t computed_tokens;  // of those, in the KV cache or scheduled into it
  std::int64_t blocks;           // KV blocks held on the device: none while swapped out
  // Its next token has not come back yet: nothing to schedule, and not to be preempted. A prompt is not in
  // flight before its last chunk is: the next chunk may follow at once.
  bool in_flight;
  std::int32_t priority;  // of the request: a lower number is more urgent

  std::int64_t pending() const { return known_tokens - computed_tokens; }  // decode: 1, or 0 while in flight
  // In the KV cache when it ends; the last token's keys and values are never computed.
  std::int64_t final_tokens() const { return input_tokens + output_tokens - 1; }
  // Prompt (or, after a preemption by recomputation, prompt and output so far) not yet computed.
  bool prefilling() const { return computed_tokens < prefill_target; }
  // known_tokens when it was admitted; a swap does not change it, a recomputation does. The prompt, if that
  // was computed on a prefill replica. Means nothing for one that waits to be computed from its beginning.
  std::int64_t prefill_target;
  std::int32_t request = -1;  // the engine's name for it
  // Its KV cache lies elsewhere (swapped out, or at a prefill replica) and is fetched once it is admitted.
  bool elsewhere = false;
  // The device's memory channel that its KV cache lies in, or its first layer's where layers go round them; a
  // waiting request would go there. 16 bits, so that a view stays one cache line.
  std::int16_t channel = 0;
};
static_assert(sizeof(SequenceView) == 64);

struct ServingView {
  std::span<const SequenceView> running;      // in order of admission
  std::span<const SequenceView> waiting;      // in order of arrival; preempted ones in front
  std::span<const std::int64_t> free_blocks;  // of each channel, or of all together: one number
  std::int64_t total_blocks;                  // of the largest of these
  std::int64_t block_tokens;
  Admission admission;
  int pipeline_stages;
  const StepTimes* times = nullptr;  // for policies with a predictor
  std::span<const int> pools = {};  // of each memory channel, its index into free_blocks; empty: the same one
  int spare_channel = -1;           // that of the memory to spare (KvMemory); -1: there is none
  std::int64_t leaving = 0;         // ended, and hold their seats in this step yet
  // Behind the token of each decode so many guessed ones are verified in the same step: its slice of one
  // token takes as many more of the token budget, and KV room for them.
  std::int64_t drafts = 0;
  Prefixes* prefixes = nullptr;  // null: nothing is found
  // An admission leaves so many free, in its channel or in all together, unless nothing runs.
  std::int64_t watermark_blocks = 0;
  // By a request's name: a request that came earlier has a lower number. Empty: the names are in order.
  std::span<const std::int32_t> order = {};
  std::int32_t came(const SequenceView& s) const {
    return order.empty() ? s.request : order[static_cast<std::size_t>(s.request)];
  }
};

// Index into free_blocks.
inline std::size_t pool_of(const ServingView& view, int channel) {
  const auto at = static_cast<std::size_t>(channel);
  return view.pools.empty() ? at : static_cast<std::size_t>(view.pools[at]);
}
inline std::size_t pool_of(const ServingView& view, const SequenceView& sequence) {
  return pool_of(view, sequence.channel);
}

enum class Predictor { none, exact, learned };  // where ServingView::times come from

class BatchingPolicy {
 public:
  virtual ~BatchingPolicy() = default;
  virtual void next(const ServingView& view, Batch& batch) const = 0;  // fills a cleared batch
  // False if the request could not run to its end even alone in a channel of `total_blocks`: the engine
  // rejects it on arrival. A reader asks the same of a request of max_model_len tokens, as vLLM does of its
  // configuration.
  virtual bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const = 0;
  virtual std::int64_t max_batch_requests() const = 0;
  virtual std::int64_t max_batch_tokens() const = 0;  // for the activation reserve
  virtual bool interleaves() const { return false; }  // may give two sub-batches
  virtual Predictor predictor() const { return Predictor::none; }
  virtual bool moves_kv_caches() const { return false; }  // from one memory to another
};

const Catalog<BatchingPolicy>& batching_policies();

}  // namespace weir
