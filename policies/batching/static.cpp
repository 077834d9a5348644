// Request-level batching as of FasterTransformer behind Triton's dynamic batcher with its default queue delay
// of 0 (docs.nvidia.com/deeplearning/triton-inference-server, "Batchers"): an idle replica takes what waits,
// up to max_batch_requests, and reserves the KV cache of each to its end (kv_cache.admission is not looked
// at, nothing is preempted); it computes all their prompts, whole, in as many steps as the token budget
// needs; then all decode together, and nobody joins until the last has ended. Rows of those that ended are
// not computed on, as FasterTransformer would: a lower bound on its cost.
#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

class StaticBatching final : public WholePromptBatching {
 public:
  using WholePromptBatching::WholePromptBatching;

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, Admission::sequence, batch);
    if (view.running.empty())
      while (const SequenceView* head = builder.head())
        if (!builder.admit(*head, head->pending())) break;
    if (!prompts(view, batch.admitted.size(), builder)) builder.run();
  }

 private:
  // Takes the prompts (or, on a decode replica, first tokens) that have not been started; false if there are
  // none.
  static bool prompts(const ServingView& view, std::size_t admitted, BatchBuilder& builder) {
    bool any = false;
    for (std::size_t i = 0; i < view.running.size() + admitted && !builder.full(); ++i) {
      const bool joins = i >= view.running.size();
      const SequenceView& member = joins ? builder.admitted(i - view.running.size()) : view.running[i];
      if (!joins && (!member.prefilling() || member.in_flight)) continue;  // it is loaded from a tier
      any = true;
      if (builder.positions(member, member.pending()) > builder.tokens_left() ||
          !builder.take(member, member.pending()))
        break;
    }
    return any;
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_static_batching(Params& params) {
  return std::make_shared<StaticBatching>(BatchLimits::from(params));
}

}  // namespace weir
