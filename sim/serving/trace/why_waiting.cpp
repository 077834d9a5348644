#include "sim/serving/trace/why_waiting.h"

#include <algorithm>

namespace weir {
namespace {

// Preempted ones wait in front, the last of them first.
std::int32_t first_waiting(const ServingView& view, const Batch& batch) {
  if (!batch.preempted.empty()) return batch.preempted.back();
  for (const SequenceView& waiting : view.waiting)
    if (std::ranges::find(batch.admitted, waiting.request) == batch.admitted.end()) return waiting.request;
  return -1;
}

bool no_seat(const BatchingPolicy& policy, const ServingView& view, const Batch& batch) {
  const std::int64_t most = policy.max_batch_requests(), stages = view.pipeline_stages;
  const std::int64_t run =
      std::ssize(view.running) - std::ssize(batch.preempted) + std::ssize(batch.admitted) + view.leaving;
  return run >= most || std::ssize(batch.slices) >= (most + stages - 1) / stages;
}

// A slice of a prompt has its tokens, one of a decode its drafts as well.
bool no_tokens(const BatchingPolicy& policy, const ServingView& view, const Batch& batch) {
  std::int64_t tokens = 0;
  for (const Slice& slice : batch.slices) tokens += slice.tokens;
  for (const SequenceView& running : view.running)
    if (view.drafts > 0 && !running.prefilling() && !running.in_flight) tokens += view.drafts;
  return tokens >= policy.max_batch_tokens();
}

}  // namespace

bool WhyWaiting::same_reason(const WhyWaiting& other) const {
  return first == other.first && why == other.why;
}

WhyWaiting why_waiting(const BatchingPolicy& policy, const ServingView& view, const Batch& batch) {
  const WakesOn& wakes = batch.valid.wakes_on;
  if (wakes.lacks_blocks >= 0) return {wakes.lacks_blocks, "KV blocks", batch.lacking};
  const std::int32_t first = first_waiting(view, batch);
  if (first < 0) return {};
  if (wakes.free_blocks) return {first, "KV blocks of running requests"};
  if (no_seat(policy, view, batch)) return {first, "batch full"};
  if (no_tokens(policy, view, batch)) return {first, "token budget"};
  return {first, "policy"};
}

}  // namespace weir
