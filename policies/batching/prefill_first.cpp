// vLLM v0 (vllm/core/scheduler.py, _schedule_default, commit 0054e1f): while waiting prompts fit the budget,
// the seats and the KV cache, steps of whole prompts and nothing else; otherwise every running request
// decodes, the latest arrivals being preempted when blocks run out. Swapped-out requests come back with a
// decode step and before any new prompt. A prompt is never cut: v0 refuses to start unless
// max_num_batched_tokens >= max_model_len, because a preempted request is computed anew in one step; hence
// serves().
//
// One difference: v0's can_append_slots wants a free block for every decode, even where the last one held has
// room. Here a decode asks for what it needs, as in v1: one block apart.
#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

// Blocks an admission must leave free, "to avoid frequent cache eviction" (vllm/core/block_manager.py:
// watermark 0.01, truncated).
std::int64_t watermark(std::int64_t total_blocks) {
  return total_blocks / 100;
}

class PrefillFirst final : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    const std::int64_t spare = watermark(view.total_blocks);
    admit(builder, false, spare);
    if (!batch.admitted.empty()) return;
    builder.run();
    admit(builder, true, spare);
  }

  bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const override {
    return request.input_tokens + request.output_tokens - 1 <= limits_.max_batch_tokens &&
           LimitedBatching::serves(request, total_blocks - watermark(total_blocks), block_tokens);
  }

 private:
  // From the front of the queue either those whose KV cache exists elsewhere (swapped out, or sent by a
  // prefill replica), or new prompts.
  static void admit(BatchBuilder& builder, bool elsewhere, std::int64_t spare) {
    while (const SequenceView* head = builder.head())
      if (head->elsewhere != elsewhere || !builder.add(*head, head->pending(), spare)) break;
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_prefill_first_batching(Params& params) {
  return std::make_shared<PrefillFirst>(BatchLimits::from(params));
}

}  // namespace weir
