// Orca (Yu et al., OSDI '22, Algorithm 1): at every iteration the running requests decode and waiting ones
// join with their whole prompts, first come, first served. A request joins only when the KV cache holds it to
// its end beside all others (the paper's n_slots reservation): kv_cache.admission is not looked at and
// nothing is ever preempted. The paper bounds an iteration by requests alone; the token budget is the
// activation memory it does not speak of.
#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

class Orca final : public WholePromptBatching {
 public:
  using WholePromptBatching::WholePromptBatching;

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, Admission::sequence, batch);
    builder.run();
    while (const SequenceView* head = builder.head())
      if (!builder.add(*head, head->pending())) break;
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_orca_batching(Params& params) {
  return std::make_shared<Orca>(BatchLimits::from(params));
}

}  // namespace weir
