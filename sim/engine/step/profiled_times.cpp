#include "sim/engine/step/profiled_times.h"

namespace weir {

void ProfiledTimes::observe(std::span<const BatchShape> sub_batches) {
  for (std::size_t i = 0; i < sub_batches.size(); ++i) {
    const BatchShape& batch = sub_batches[i];
    const std::int64_t stored = sub_batches.size() == 2 ? sub_batches[1 - i].prefill_tokens : 0;
    const OffloadedWork work{batch.decodes, batch.decode_context_sum, stored, batch.contexts};
    learned_.observe_prefill_attention(batch.prefill, exact_.prefill_attention(batch.prefill));
    learned_.observe_batched(batch.prefill_tokens, batch.decodes,
                             exact_.batched(batch.prefill_tokens, batch.decodes));
    learned_.observe_offloaded(work, exact_.offloaded(work));
  }
}

}  // namespace weir
