#include "sim/step/predict/profiled_times.h"

#include <vector>

namespace weir {

std::int64_t ProfiledTimes::stored_tokens(const BatchShape& batch) const {
  std::int64_t tokens = 0;
  for (const PrefillChunk& chunk : batch.prefill)
    if (chunk.channel != exact_.spare_channel()) tokens += chunk.tokens;
  return tokens;
}

void ProfiledTimes::observe(std::span<const BatchShape> sub_batches) {
  for (std::size_t i = 0; i < sub_batches.size(); ++i) {
    const BatchShape& batch = sub_batches[i];
    const std::int64_t stored = sub_batches.size() == 2 ? stored_tokens(sub_batches[1 - i]) : 0;
    std::vector<DecodeContext> own, away;
    for (const DecodeContext& decode : batch.contexts)
      (decode.channel == exact_.spare_channel() ? own : away).push_back(decode);
    OffloadedWork work{batch.decodes - std::ssize(own), batch.decode_context_sum, stored, away};
    for (const DecodeContext& decode : own) work.context_sum -= decode.tokens;
    learned_.observe_prefill_attention(batch.prefill, exact_.prefill_attention(batch.prefill));
    learned_.observe_batched(batch.prefill_tokens, batch.decodes,
                             exact_.batched(batch.prefill_tokens, batch.decodes));
    learned_.observe_offloaded(work, exact_.offloaded(work));
    learned_.observe_decode_attention(own, exact_.decode_attention(own));
  }
}

}  // namespace weir
