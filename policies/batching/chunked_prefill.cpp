// vLLM v1 (vllm/v1/core/sched/scheduler.py, Scheduler.schedule, commit 00024d3) and Sarathi-Serve (OSDI '24):
// the running requests first, decodes and prompt chunks alike, then waiting ones as far as budget, seats and
// KV blocks reach; no admission in a step that preempted. Left out: priorities,
// long_prefill_token_threshold (0 by default).
#include <algorithm>

#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

class ChunkedPrefill final : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    builder.run();
    builder.add_in_order();
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_chunked_prefill_batching(Params& params) {
  return std::make_shared<ChunkedPrefill>(BatchLimits::from(params));
}

}  // namespace weir
